package operations

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func matchesCommand(con *cli.Console) *cobra.Command {
	return cli.Group("matches", "Show and delete the matches that games reported",
		cli.ListOf(con, operator.ListMatches, "id\treported\toutcome\tplayers…", func(m storage.Match) []string {
			return []string{strconv.FormatUint(m.ID, 10), cli.Stamp(m.First), string(m.Outcome), matchPlayers(m)}
		}),
		matchesShow(con),
		cli.Command(con, operator.DeleteMatch, func(in operator.MatchRef, _ operator.Removed) error { return con.Say("deleted match %d", in.ID) }))
}

func matchPlayers(m storage.Match) string {
	all := make([]string, 0, len(m.Players))
	for _, p := range m.Players {
		all = append(all, playerName(p)+" "+p.Result)
	}
	return strings.Join(all, ", ")
}

// playerName returns the nick of a player; a guest has none.
func playerName(p storage.MatchPlayer) string {
	if p.Nick == "" {
		return "(guest)"
	}
	return p.Nick
}

func matchesShow(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.GetMatch, func(_ operator.MatchRef, m storage.Match) error {
		if con.JSON {
			return con.PrintObject(m)
		}
		if err := con.Say("match %d of %s: %s\nsession %s, begun %s, reported %s, settled %s", m.ID, m.Game, m.Outcome, m.Session,
			cli.Stamp(m.Began), cli.Stamp(m.First), cli.Stamp(m.Settled)); err != nil {
			return err
		}
		if err := con.Table("profile\treporter…\treport", cli.Rows(m.Sides, func(s storage.MatchSide) []string {
			report := strconv.Itoa(s.Version)
			switch {
			case s.Version == 0:
				report = "missing"
			case s.Version < 0:
				report = "another one"
			}
			if s.Host {
				report += ", authoritative"
			}
			return []string{strconv.Itoa(int(s.Profile)), cli.Dash(cli.Printable(s.Nick)), report}
		})); err != nil {
			return err
		}
		return con.Table("profile\tplayer…\tteam\tresult\tvalues…", cli.Rows(m.Players, func(pl storage.MatchPlayer) []string {
			values := make([]string, 0, len(pl.Values))
			for _, v := range pl.Values {
				values = append(values, fmt.Sprintf("%d=%s", v.Key, v.Text))
			}
			return []string{
				strconv.Itoa(int(pl.Profile)), playerName(pl), strconv.FormatUint(uint64(pl.Team), 10), pl.Result, cli.Dash(strings.Join(values, " ")),
			}
		}))
	}))
}

func meetingsCommand(con *cli.Console) *cobra.Command {
	cmd := con.JSONFlag(cli.Command(con, operator.GetMeetings, func(_ operator.None, m operator.Meetings) error {
		number := func(n uint64) string { return strconv.FormatUint(n, 10) }
		return cli.Show(con, "routers\tdirect\tnegotiated\trelayed\tfailed\tunreported", m.Pairs, func(c operator.MeetingCount) []string {
			return []string{
				c.Routers[0] + " x " + c.Routers[1], number(c.Direct), number(c.Negotiated), number(c.Relayed), number(c.Failed), number(c.Unreported),
			}
		})
	}))
	cmd.Long = cmd.Short + `, by the kinds of their
routers: numbers of pairs, without addresses, kept over restarts. In a cluster each node
counts its own.

open: the public address is the player's own. cone: one port for all partners.
symmetric: another port for each. strict: only answers get in, and whether it has one
port for all partners is not known. unreported: they were introduced, and the game did
not report the result.`
	return cmd
}

func relayCommand(con *cli.Console) *cobra.Command {
	cmd := cli.ListOf(con, operator.ListRelayed, "game…\tclient\thost\tsince\tlast packet\tpackets\tbytes",
		func(r operator.RelayedPair) []string {
			return []string{
				cli.Dash(r.Game), relayedAt(r.Client), relayedAt(r.Host), cli.Stamp(r.Since), cli.Stamp(r.Last),
				fmt.Sprintf("%d + %d", r.Client.Packets, r.Host.Packets), fmt.Sprintf("%d + %d", r.Client.Bytes, r.Host.Bytes),
			}
		})
	cmd.Long = cmd.Short + `: pairs whose routers prevent a direct
connection, and whose packets pass through this machine. In a cluster each node shows its own.

packets, bytes: sent by the client, and sent by the host. An address without a port
has not sent anything yet.`
	return cmd
}

func relayedAt(r operator.RelayedPlayer) string {
	if !r.Come {
		return r.Address.Addr().String()
	}
	return r.Address.String()
}
