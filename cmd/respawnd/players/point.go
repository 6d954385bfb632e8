package players

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostsfile"
	"github.com/respawnd/respawnd/internal/kit"
)

// lookupTimeout bounds all questions to the system's resolver of one command.
const lookupTimeout = 5 * time.Second

const pointHelp = `Directs a game on this computer to a server: writes its host names into the hosts
file, between lines that name the game, after showing them. The first change keeps
a copy of the file beside it. --undo removes the lines again, --status shows them.
--kit writes an archive for players instead: lines, scripts and a README.

The hosts file belongs to the administrator: on Linux and macOS put sudo in front,
on Windows use a terminal that was opened with "Run as administrator".`

var errPointForms = errors.New("want one of: point GAME --to HOST, point --undo [GAME], point --status")

// pointing is one use of the command.
type pointing struct {
	p              *cli.Console
	to, file, kit  string
	undo, status   bool
	yes, onlyShown bool
	anyway         bool
}

func pointCommand(con *cli.Console) *cobra.Command {
	o := &pointing{p: con}
	cmd := cli.Leaf("point GAME --to HOST", "Direct a game on this computer to a server, or undo that", cobra.MaximumNArgs(1),
		func(ctx context.Context, args []string) error {
			game := strings.Join(args, "")
			switch {
			case o.status && !o.undo && o.to == "" && game == "":
				return o.showStatus(ctx)
			case o.undo && !o.status && o.to == "":
				return o.remove(game)
			case !o.undo && !o.status && game != "" && o.to != "" && o.kit != "":
				return o.writeKit(ctx, game)
			case !o.undo && !o.status && game != "" && o.to != "" && o.kit == "":
				return o.point(ctx, game)
			default:
				return cli.Misused(errPointForms)
			}
		})
	cmd.Long = pointHelp
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "the server: its IPv4 address, or its name")
	flags.BoolVar(&o.undo, "undo", false, "remove the lines of GAME, or of all games")
	flags.BoolVar(&o.status, "status", false, "show the games and their servers")
	flags.StringVar(&o.file, "file", hostsfile.Path(), "the hosts file")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.anyway, "anyway", false, "also point a game that is known to be played elsewhere, or that needs more than the server has")
	flags.StringVar(&o.kit, "kit", "", "only write all that a player needs into this archive (.zip), and change nothing")
	flags.BoolVar(&o.onlyShown, "dry-run", false, "only print the file that would be written")
	cmd.AddCommand(pointTestCommand(con), pointPatchCommand(con))
	return con.JSONFlag(cmd)
}

// point writes the lines of a game.
func (o *pointing) point(ctx context.Context, game string) error {
	cfg, _, err := o.p.Load()
	if err != nil {
		return o.p.ListMistakes(err)
	}
	g, err := o.p.FindGame(ctx, cfg, game)
	if err != nil {
		return err
	}
	known := g.Outlook(daemon.Built(cfg), nil)
	if away := known.Word == games.Elsewhere || known.Word == games.Blocked; away && !o.anyway {
		return fmt.Errorf("%s: %s; --anyway points it all the same", g.Name, known.Line())
	}
	at, err := addressOf(ctx, o.to)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	names, err := namesOf(g, cfg)
	if err != nil {
		return err
	}
	set := func(f *hostsfile.File) error { return f.Set(g.Name, at, names) }
	if err := o.try(set); err != nil {
		return err
	}
	if at.String() != o.to {
		if err := o.p.Say("%s is %s now. A hosts file holds addresses only: point the game again if that changes.\n", cli.Printable(o.to), at); err != nil {
			return err
		}
	}
	for _, line := range g.Says(daemon.Built(cfg), nil) {
		if err := o.p.Say("%s: %s", g.Name, cli.Printable(line)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := o.p.Say("%s %s", at, name); err != nil {
			return err
		}
	}
	if o.onlyShown {
		return nil
	}
	if err := o.confirm("Write these %s into %s?", cli.Counted(len(names), "line"), o.file); err != nil {
		return err
	}
	return o.update(set,
		fmt.Sprintf("%s leads to %s. Back again: respawnd point --undo %s", g.Name, at, g.Name),
		fmt.Sprintf("%s leads to %s already", g.Name, at))
}

// writeKit writes the archive with all that a player of a game needs.
func (o *pointing) writeKit(ctx context.Context, game string) error {
	cfg, _, err := o.p.Load()
	if err != nil {
		return o.p.ListMistakes(err)
	}
	k := kit.Kit{Domains: cfg.Games.Domains, Leads: leadsHere(cfg), Scripts: true}
	if k.Game, err = o.p.FindGame(ctx, cfg, game); err != nil {
		return err
	}
	if k.Address, err = addressOf(ctx, o.to); err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	k.Known = k.Game.Outlooks(daemon.Built(cfg), nil)
	archive, err := k.Zip()
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.kit, archive, 0o600); err != nil {
		return fmt.Errorf("--kit: %w", err)
	}
	return o.p.Say("%s leads %s to %s. SHA-256: %x", o.kit, k.Game.Name, k.Address, sha256.Sum256(archive))
}

// try reports whether a change is possible, before the question.
func (o *pointing) try(edit func(*hostsfile.File) error) error {
	f, err := hostsfile.Read(o.file)
	if err == nil {
		err = edit(f)
	}
	if err != nil {
		return o.explain(err)
	}
	return nil
}

// remove removes the lines of a game, or of all.
func (o *pointing) remove(game string) error {
	game = strings.ToLower(game)
	all := "all games"
	if game != "" {
		all = game
	}
	if o.onlyShown {
		return o.listEntries(game)
	}
	return o.update(func(f *hostsfile.File) error {
		f.Remove(game)
		return nil
	}, "removed the lines of "+cli.Printable(all), "there are no lines of "+cli.Printable(all))
}

// listEntries prints the lines of a game, of all if it is empty.
func (o *pointing) listEntries(game string) error {
	f, err := hostsfile.Read(o.file)
	if err != nil {
		return o.explain(err)
	}
	for _, e := range f.Entries() {
		if game != "" && e.Game != game {
			continue
		}
		if err := o.p.Say("%s %s", e.Address, cli.Printable(e.Name)); err != nil {
			return err
		}
	}
	return nil
}

// update changes the file and prints one of the texts.
func (o *pointing) update(edit func(*hostsfile.File) error, done, nothing string) error {
	changed, backup, err := hostsfile.Update(o.file, edit)
	switch {
	case err != nil:
		return o.explain(err)
	case !changed:
		return o.p.Say("%s", nothing)
	case backup != "":
		done += "\nThe file as it was: " + backup
	}
	return o.p.Say("%s", done)
}

// explain adds the remedy to an error of the hosts file.
func (o *pointing) explain(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	if runtime.GOOS == "windows" {
		return fmt.Errorf("%w: open a terminal with \"Run as administrator\" and try again; if it still fails, the file is read-only or a virus scanner protects it", err)
	}
	return fmt.Errorf("%w: put sudo in front of the command", err)
}

// confirm asks a question unless --yes answers it.
func (o *pointing) confirm(format string, args ...any) error {
	if o.yes {
		return nil
	}
	return o.p.Ask(format, args...)
}

// pointed is a game in the hosts file.
type pointed struct {
	Game    string     `json:"game"`
	Address netip.Addr `json:"address"`
	Names   int        `json:"names"`
	// Tested reports whether this computer was asked where the names lead, which it is
	// not about another file than its own.
	Tested bool `json:"tested"`
	// Elsewhere are the names that this computer resolves to another address.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// showStatus prints the games in the hosts file and their servers.
func (o *pointing) showStatus(ctx context.Context) error {
	f, err := hostsfile.Read(o.file)
	if err != nil {
		return o.explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	var list []pointed
	own := o.file == hostsfile.Path()
	for _, e := range f.Entries() {
		i := slices.IndexFunc(list, func(p pointed) bool { return p.Game == e.Game && p.Address == e.Address })
		if i < 0 {
			i = len(list)
			list = append(list, pointed{Game: e.Game, Address: e.Address, Tested: own})
		}
		list[i].Names++
		if own && !resolvesTo(ctx, e.Name, e.Address) {
			list[i].Elsewhere = append(list[i].Elsewhere, e.Name)
		}
	}
	if len(list) == 0 && !o.p.JSON {
		return o.p.Say("no game leads to another server")
	}
	return cli.Show(o.p, "GAME\tADDRESS\tNAMES\tSTATE…", list, func(l pointed) []string {
		state := "in force"
		switch {
		case !l.Tested:
			state = "not tested"
		case len(l.Elsewhere) > 0:
			state = "not in force: " + strings.Join(l.Elsewhere, ", ")
		}
		return []string{cli.Printable(l.Game), l.Address.String(), strconv.Itoa(l.Names), cli.Printable(state)}
	})
}

// resolvesTo reports whether this computer resolves a name to an address.
func resolvesTo(ctx context.Context, name string, want netip.Addr) bool {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	return err == nil && len(found) > 0 && found[0].Unmap() == want
}

var errNotIPv4 = errors.New("games of that time need an IPv4 address, and this is not the address of a server")

// addressOf returns the IPv4 address of a host.
func addressOf(ctx context.Context, host string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a = a.Unmap(); !a.Is4() || a.IsUnspecified() || a.IsMulticast() {
			return a, fmt.Errorf("%s: %w", a, errNotIPv4)
		}
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return netip.Addr{}, err
	}
	return found[0].Unmap(), nil
}

// leadsHere returns whether a name may lead to a daemon with a configuration: if that lists
// the services that run, only if one of those answers.
func leadsHere(cfg *services.Config) func(games.HostName) bool {
	served := daemon.Served(cfg)
	return func(n games.HostName) bool {
		return n.LeadsHere(served) && (len(cfg.Services) == 0 || n.Served(served))
	}
}

// namesOf returns the host names of a game that lead to a server of this program.
func namesOf(g games.Game, cfg *services.Config) ([]string, error) {
	names, err := g.LeadingNames(cfg.Games.Domains, leadsHere(cfg))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s looks up no name that a service of respawnd answers here", g.Name)
	}
	return names, err
}
