package operations

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func doctorCommand(con *cli.Console) *cobra.Command {
	var who patient
	var game string
	o := operator.ListVerdicts.As("doctor", "Explain the last decisions of the running daemon about an address or host name")
	cmd := cli.Showing(con, &o.Operation, new(operator.Address), func(ctx context.Context, c operator.Conn, args []string) error {
		if len(args) == 0 {
			return tellVerdicts(ctx, con, c, game)
		}
		return consult(ctx, con, c, &who)
	})
	cmd.Use, cmd.Args = "doctor [HOST[:PORT]]", cli.Usage(cobra.MaximumNArgs(1))
	cmd.PreRunE = func(_ *cobra.Command, args []string) (err error) {
		if len(args) == 0 {
			return nil
		}
		if who, err = parsePatient(args[0]); err != nil {
			return cli.Misused(err)
		}
		return nil
	}
	cmd.Flags().StringVar(&game, "game", "", "only about this game, without an address")
	return cmd
}

// logTime returns a time in the form of the log's lines, with its zone.
func logTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.RFC3339)
}

// tellVerdicts prints the latest verdicts on many addresses, about all games or the one that words mean.
func tellVerdicts(ctx context.Context, con *cli.Console, op operator.Conn, game string) error {
	list, err := operator.ListVerdicts.Call(ctx, op, operator.Address{Addr: netip.Addr{}})
	if err != nil {
		return err
	}
	if game != "" {
		known, err := operator.ListGames.Call(ctx, op, operator.None{})
		if err != nil {
			return err
		}
		g, err := con.PickGame(known, game, games.Find)
		if err != nil {
			return fmt.Errorf("--game: %w", err)
		}
		list = slices.DeleteFunc(list, func(v operator.Verdict) bool { return !strings.EqualFold(v.Game, g.Name) })
	}
	return cli.Show(con, "service\taddress\tgame…\tverdict…\tfirst\tlast\ttimes", list, func(v operator.Verdict) []string {
		return []string{v.Service, v.Where(), cli.Dash(v.Game), v.Verdict, logTime(v.First), logTime(v.Last), fmt.Sprint(v.Times)}
	})
}

// consult prints everything about each address of a patient, with --json the
// verdicts alone.
func consult(ctx context.Context, con *cli.Console, op operator.Conn, who *patient) error {
	addrs, err := who.addresses(ctx, net.DefaultResolver.LookupNetIP)
	if err != nil {
		return err
	}
	if left := len(addrs) - maxAddresses; left > 0 {
		addrs = addrs[:maxAddresses]
		if _, err := fmt.Fprintf(con.Err, "warning: %s has %s more, which are left out\n", who.host, cli.Counted(left, "address")); err != nil {
			return err
		}
	}
	for i, a := range addrs {
		list, err := operator.ListVerdicts.Call(ctx, op, operator.Address{Addr: a})
		if err != nil {
			return err
		}
		own, others := who.split(list)
		if con.JSON {
			err = cli.PrintJSON(con, own)
		} else {
			err = examine(ctx, con, op, who, a, i, own, others)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// examine prints everything about one address: the present state, and the
// verdicts that led to it. others are verdicts on ports that are not meant.
func examine(ctx context.Context, con *cli.Console, op operator.Conn, who *patient, addr netip.Addr, before int, list, others []operator.Verdict) error {
	if !who.addr.IsValid() {
		blank := ""
		if before > 0 {
			blank = "\n"
		}
		if err := con.Say("%s%s is %s", blank, who.host, addr); err != nil {
			return err
		}
	}
	if err := tellPresent(ctx, con, op, who, addr); err != nil {
		return err
	}
	if !slices.ContainsFunc(list, ofServer) {
		if err := tellNothing(con, who, addr, others); err != nil {
			return err
		}
	}
	for i, v := range list {
		if superseded(list[i+1:], v) {
			v.Advice = ""
		}
		if err := tellVerdict(con, v); err != nil {
			return err
		}
	}
	return tellGames(ctx, con, op, list)
}

// tellGames prints what is known of playing the games of verdicts here.
func tellGames(ctx context.Context, con *cli.Console, op operator.Conn, list []operator.Verdict) error {
	if len(list) == 0 {
		return nil
	}
	cfg, _, err := con.Load()
	if err != nil {
		return con.ListMistakes(err)
	}
	known, err := operator.ListGames.Call(ctx, op, operator.None{})
	if err != nil {
		return err
	}
	catalogue, err := games.NewCatalog(known)
	if err != nil {
		return err
	}
	var told []string
	for _, v := range list {
		g, ok := catalogue.Lookup(v.Game)
		if !ok || slices.Contains(told, g.Name) {
			continue
		}
		told = append(told, g.Name)
		for _, line := range g.Says(daemon.Served(cfg), nil) {
			if err := con.Say("\nplaying %s here: %s", g.Name, cli.Printable(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofServer reports whether a verdict is about a game server.
func ofServer(v operator.Verdict) bool { return !verdicts.OfPlayer(v.Service) }

// maxOtherPorts is the maximum number of other ports that doctor names.
const maxOtherPorts = 10

// tellNothing explains that no game server is known at an address.
func tellNothing(con *cli.Console, who *patient, addr netip.Addr, others []operator.Verdict) error {
	if err := con.Say(`
No packet of a game server came from %s since the daemon started, or it
was forgotten for newer ones. If one should be there, its packets do not arrive
here, or come from another address:
  - does the game find this machine by name? respawnd hosts --game GAME --ip ADDRESS
  - does a firewall on the way let UDP through (27900; Zandronum: 15300; A2S: 27010)?`, who.where(addr)); err != nil {
		return err
	}
	var ports []string
	for _, v := range slices.Backward(others) {
		if port := fmt.Sprint(v.Address.Port()); ofServer(v) && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	switch n := len(ports); {
	case n == 0:
		return nil
	case n > maxOtherPorts:
		ports = append(ports[:maxOtherPorts], fmt.Sprintf("%d more", n-maxOtherPorts))
	}
	return con.Say(`  - packets came from other ports of that address: %s.
    A router may give the server another port. respawnd doctor %s`, strings.Join(ports, ", "), addr)
}

// superseded reports whether later verdicts of the same service on the same
// address make the advice of a verdict obsolete.
func superseded(later []operator.Verdict, v operator.Verdict) bool {
	earlier, _ := verdicts.Parse(v.Verdict)
	return slices.ContainsFunc(later, func(l operator.Verdict) bool {
		next, known := verdicts.Parse(l.Verdict)
		return l.Service == v.Service && l.Address == v.Address && (!known || next.Outdates(earlier))
	})
}

// tellPresent prints the servers and the bans of an address.
func tellPresent(ctx context.Context, con *cli.Console, op operator.Conn, who *patient, addr netip.Addr) error {
	servers, err := operator.ListServers.Call(ctx, op, operator.ServerQuery{})
	if err != nil {
		return err
	}
	for _, s := range servers {
		if !slices.ContainsFunc([]netip.AddrPort{s.Source, s.Address}, func(a netip.AddrPort) bool { return a.Addr() == addr && who.has(a) }) {
			continue
		}
		state := "listed"
		if s.Hidden != "" {
			state = "not shown: " + cli.Printable(s.Hidden)
		}
		switch {
		case s.Vouched:
			state += ", known from " + cli.Printable(s.Via) + " and not queried from here"
		case s.Via != "":
			state += ", known from " + cli.Printable(s.Via)
		}
		if err := con.Say("now: server %s of %s, %s", s.Address, cli.Printable(s.Game), state); err != nil {
			return err
		}
	}
	bans, err := operator.ListBans.Call(ctx, op, operator.None{})
	if err != nil {
		return err
	}
	for _, b := range bans {
		if b.Prefix.Contains(addr) && inForce(b, time.Now()) {
			if err := con.Say("now: a ban of %s covers it: scope %s, until %s, reason %s", b.Prefix, b.Scope, zonedUntil(b.Expires), cli.Dash(b.Reason)); err != nil {
				return err
			}
		}
	}
	inFiles, err := operator.ListFileBans.Call(ctx, op, operator.Address{Addr: addr})
	if err != nil {
		return err
	}
	for _, b := range inFiles {
		if err := con.Say("now: a ban of %s in %s covers it: it %s, until %s, reason %s",
			cli.Printable(b.Addresses), filePlace(b), b.Effect, zonedUntil(b.Expires), cli.Dash(b.Reason)); err != nil {
			return err
		}
	}
	return nil
}

// zonedUntil is until with the zone.
func zonedUntil(t time.Time) string {
	if t.IsZero() {
		return cli.Until(t)
	}
	return logTime(t)
}

func inForce(b storage.Ban, now time.Time) bool { return b.Expires.IsZero() || now.Before(b.Expires) }

// tellVerdict prints the explanation of one verdict, with its advice if it has
// any.
func tellVerdict(con *cli.Console, v operator.Verdict) error {
	game := ""
	if v.Game != "" {
		game = " for game " + cli.Printable(v.Game)
	}
	since, times := "", ""
	if v.Times > 1 {
		since, times = "since ", fmt.Sprintf(" (%d times, last %s)", v.Times, logTime(v.Last))
	}
	if err := con.Say("\n%s%s %s from %s%s: %s%s\n  %s", since, logTime(v.First), v.What, v.Where(), game, v.Verdict, times, v.Cause); err != nil {
		return err
	}
	if v.Advice == "" {
		return nil
	}
	return con.Say("  What to do: %s", v.Advice)
}
