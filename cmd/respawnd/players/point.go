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
	"github.com/respawnd/respawnd/operator"
)

// lookupTimeout bounds all questions to the system's resolver of one command.
const lookupTimeout = 5 * time.Second

const pointHelp = `Directs games on this computer to a server: writes their host names into the hosts
file, between lines that name the game, after showing them. The first change keeps
a copy of the file beside it. --all directs all games that should play, --move those
that are directed somewhere to another server. --undo removes the lines again,
--status shows them. --kit writes an archive for players instead: lines, scripts and
a README.

The hosts file belongs to the administrator: on Linux and macOS put sudo in front,
on Windows use a terminal that was opened with "Run as administrator".`

var errPointForms = errors.New("want one of: point GAME... --to HOST, point --all --to HOST, point --move HOST, point --undo [GAME...], point --status")

// pointing is one use of the command.
type pointing struct {
	p                   *cli.Console
	to, move, file, kit string
	all, undo, status   bool
	yes, onlyShown      bool
	anyway              bool
}

func pointCommand(con *cli.Console) *cobra.Command {
	o := &pointing{p: con}
	cmd := cli.Leaf("point GAME... --to HOST", "Direct games on this computer to a server, or undo that", cobra.ArbitraryArgs, o.run)
	cmd.Long = pointHelp
	flags := cmd.Flags()
	flags.StringVar(&o.to, "to", "", "the server: its IPv4 address, or its name")
	flags.BoolVar(&o.all, "all", false, "all games that should play there")
	flags.StringVar(&o.move, "move", "", "another server for all games that are directed to one")
	flags.BoolVar(&o.undo, "undo", false, "remove the lines of the games, or of all")
	flags.BoolVar(&o.status, "status", false, "show the games and their servers")
	flags.StringVar(&o.file, "file", hostsfile.Path(), "the hosts file")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.anyway, "anyway", false, "also point a game that is known to be played elsewhere, or that needs more than the server has")
	flags.StringVar(&o.kit, "kit", "", "only write all that a player of one game needs into this archive (.zip), and change nothing")
	flags.BoolVar(&o.onlyShown, "dry-run", false, "only print the file that would be written")
	cmd.AddCommand(pointTestCommand(con), pointPatchCommand(con))
	return con.JSONFlag(cmd)
}

// run performs the form of the command that the flags name.
func (o *pointing) run(ctx context.Context, wanted []string) error {
	forms := 0
	for _, on := range []bool{o.to != "", o.move != "", o.undo, o.status} {
		if on {
			forms++
		}
	}
	named := len(wanted) > 0
	switch {
	case forms != 1 || o.all && o.to == "" || o.kit != "" && (o.all || len(wanted) != 1):
	case o.undo && o.kit == "":
		return o.remove(wanted)
	case o.to != "" && o.kit != "":
		return o.writeKit(ctx, wanted[0])
	case o.to != "" && named != o.all:
		return o.point(ctx, wanted)
	case o.move != "" && !named:
		return o.moveAll(ctx)
	case o.status && !named:
		return o.showStatus(ctx)
	}
	return cli.Misused(errPointForms)
}

// directed is a game with the names that lead to a server.
type directed struct {
	games.Game
	names []string
}

// directedGame returns a game that may be directed to a daemon with a configuration.
func (o *pointing) directedGame(ctx context.Context, cfg *services.Config, words string) (directed, error) {
	g, err := o.p.FindGame(ctx, cfg, words)
	if err != nil {
		return directed{}, err
	}
	known := g.Outlook(daemon.Built(cfg), nil)
	if away := known.Word == games.Elsewhere || known.Word == games.Blocked; away && !o.anyway {
		return directed{}, fmt.Errorf("%s: %s; --anyway points it all the same", g.Name, known.Line())
	}
	names, err := namesOf(g, cfg)
	return directed{g, names}, err
}

// directedGames returns the games that are named, or with --all those that should play. The error has
// all that may not be directed.
func (o *pointing) directedGames(ctx context.Context, cfg *services.Config, wanted []string) (list []directed, err error) {
	if o.all {
		catalogue, err := operator.ReadGames(cfg.Games.File)
		if err != nil {
			return nil, err
		}
		for _, g := range catalogue.All() {
			if names, err := namesOf(g, cfg); err == nil && g.See == "" && g.Outlook(daemon.Built(cfg), nil).Word.Good() {
				list = append(list, directed{g, names})
			}
		}
		return list, nil
	}
	var mistakes []error
	for _, words := range wanted {
		g, err := o.directedGame(ctx, cfg, words)
		if err != nil {
			mistakes = append(mistakes, err)
		}
		list = append(list, g)
	}
	return list, errors.Join(mistakes...)
}

// point writes the lines of games.
func (o *pointing) point(ctx context.Context, wanted []string) error {
	cfg, _, err := o.p.Load()
	if err != nil {
		return o.p.ListMistakes(err)
	}
	list, err := o.directedGames(ctx, cfg, wanted)
	if err != nil {
		return err
	}
	at, err := o.server(ctx, "--to", o.to)
	if err != nil {
		return err
	}
	set := func(f *hostsfile.File) error {
		for _, g := range list {
			if err := f.Set(g.Name, at, g.names); err != nil {
				return err
			}
		}
		return nil
	}
	if err := o.try(set); err != nil {
		return err
	}
	lines := 0
	for _, g := range list {
		lines += len(g.names)
		if err := o.showLines(cfg, g, at); err != nil {
			return err
		}
	}
	if o.onlyShown {
		return nil
	}
	if err := o.confirm("Write these %s into %s?", cli.Counted(lines, "line"), o.file); err != nil {
		return err
	}
	what, leads, back := list[0].Name, "leads", " "+list[0].Name
	if len(list) > 1 {
		what, leads, back = cli.Counted(len(list), "game"), "lead", ""
	}
	return o.update(set,
		fmt.Sprintf("%s %s to %s. Back again: respawnd point --undo%s", what, leads, at, back),
		fmt.Sprintf("%s %s to %s already", what, leads, at))
}

// showLines shows the lines of a game, with what is known of playing it. Of all games it shows only how
// many each has.
func (o *pointing) showLines(cfg *services.Config, g directed, at netip.Addr) error {
	if o.all {
		return o.p.Say("%s: %s", g.Name, cli.Counted(len(g.names), "line"))
	}
	for _, line := range g.Says(daemon.Built(cfg), nil) {
		if err := o.p.Say("%s: %s", g.Name, cli.Printable(line)); err != nil {
			return err
		}
	}
	for _, name := range g.names {
		if err := o.p.Say("%s %s", at, name); err != nil {
			return err
		}
	}
	return nil
}

// server returns the address of the server that a flag names, and says it.
func (o *pointing) server(ctx context.Context, flag, host string) (netip.Addr, error) {
	at, err := addressOf(ctx, host)
	if err != nil {
		return at, fmt.Errorf("%s: %w", flag, err)
	}
	if at.String() != host {
		err = o.p.Say("%s is %s now. A hosts file holds addresses only: respawnd point --move %s if that changes.\n", cli.Printable(host), at, cli.Printable(host))
	}
	return at, err
}

// moveAll gives the lines of all games another address.
func (o *pointing) moveAll(ctx context.Context) error {
	at, err := o.server(ctx, "--move", o.move)
	if err != nil {
		return err
	}
	f, err := hostsfile.Read(o.file)
	if err != nil {
		return o.explain(err)
	}
	entries := f.Entries()
	if err := f.Move(at); err != nil {
		return o.explain(err)
	}
	lines := 0
	for _, e := range entries {
		if e.Address == at {
			continue
		}
		lines++
		if err := o.p.Say("%s %s (%s, was %s)", at, cli.Printable(e.Name), cli.Printable(e.Game), e.Address); err != nil {
			return err
		}
	}
	if o.onlyShown {
		return nil
	}
	if lines > 0 {
		if err := o.confirm("Write these %s into %s?", cli.Counted(lines, "line"), o.file); err != nil {
			return err
		}
	}
	return o.update(func(f *hostsfile.File) error { return f.Move(at) },
		fmt.Sprintf("all games lead to %s", at), fmt.Sprintf("there are no lines of games that lead elsewhere than to %s", at))
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

// remove removes the lines of games, of all if none is named.
func (o *pointing) remove(wanted []string) error {
	what := "all games"
	if len(wanted) > 0 {
		what = strings.ToLower(strings.Join(wanted, ", "))
	}
	if o.onlyShown {
		return o.listEntries(wanted)
	}
	return o.update(func(f *hostsfile.File) error {
		if len(wanted) == 0 {
			f.Remove("")
		}
		for _, game := range wanted {
			f.Remove(strings.ToLower(game))
		}
		return nil
	}, "removed the lines of "+cli.Printable(what), "there are no lines of "+cli.Printable(what))
}

// listEntries prints the lines of games, of all if none is named.
func (o *pointing) listEntries(wanted []string) error {
	f, err := hostsfile.Read(o.file)
	if err != nil {
		return o.explain(err)
	}
	for _, e := range f.Entries() {
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(game string) bool { return strings.EqualFold(game, e.Game) }) {
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
