package operations

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/clans"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func playedCommand(con *cli.Console) *cobra.Command {
	say := func(text string) func(operator.PlayedRef, operator.Done) error {
		return func(in operator.PlayedRef, _ operator.Done) error { return con.Say(text, cli.Printable(in.ID)) }
	}
	return cli.Group("played", "See what players reported of games, and strike reports out", playedList(con),
		cli.Command(con, operator.StrikePlayed, say("struck out %s")), cli.Command(con, operator.RestorePlayed, say("%s counts again")),
		cli.Command(con, operator.AddPlayed, func(in operator.NewPlayed, _ operator.Done) error {
			return con.Say("added a report on %s", cli.Printable(in.Game))
		}), playedQuestions(con), playedExport(con))
}

func playedList(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.ListPlayed, func(_ operator.PlayedQuery, all []storage.PlayReport) error {
		return cli.Show(con, "id…\tcopy\tversion…\tstep\tcounts\tseen at…\tremark…", all, func(p storage.PlayReport) []string {
			counts := cli.YesNo(p.Counts())
			if p.Struck {
				counts = "struck out"
			}
			seen := strings.Join(p.Services, ", ")
			if p.Source != "" {
				seen = p.Source
			}
			return []string{p.String(), cli.Dash(p.Copy), cli.Dash(p.Version), p.Step, counts, cli.Dash(seen), cli.Dash(p.Text)}
		})
	}))
}

// playedQuestions prints the games that players report to have played and that cannot be played by
// what is known of them.
func playedQuestions(con *cli.Console) *cobra.Command {
	cmd := con.OperatorCommand("questions", "Show reports that contradict what is known of a game, which only you can decide", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			cfg, _, err := con.Load()
			if err != nil {
				return con.ListMistakes(err)
			}
			all, err := operator.ListPlayed.Call(ctx, op, operator.PlayedQuery{})
			if err != nil {
				return err
			}
			list, err := operator.ListGames.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			found := []question{}
			for _, g := range list {
				if !slices.ContainsFunc(all, func(p storage.PlayReport) bool { return p.Game == g.Name }) {
					continue
				}
				for _, o := range g.Outlooks(daemon.Served(cfg), played.On(g.Name, all)) {
					if o.Questioned() {
						found = append(found, question{g.Name, o.Line(), o.Reported.String()})
					}
				}
			}
			return cli.Show(con, "game\tknown…\treported…", found, func(q question) []string { return []string{q.Game, q.Known, q.Reported} })
		})
	cmd.Long = "Shows games that cannot be played here by their records, and that players report to have\nplayed. Correct the record if they are right, else strike the reports out."
	return con.JSONFlag(cmd)
}

// question is a contradiction between what is known of a game and what players report.
type question struct {
	Game     string `json:"game"`
	Known    string `json:"known"`
	Reported string `json:"reported"`
}

func playedExport(con *cli.Console) *cobra.Command {
	return cli.CommandOf(con, &operator.ExportPlayed.Operation, new(operator.None), func(ctx context.Context, c operator.Conn, _ []string) error {
		_, err := operator.ExportPlayed.Call(ctx, c, operator.None{}, con.Out)
		return err
	})
}

func sakeCommand(con *cli.Console) *cobra.Command {
	return cli.Group("sake", "Show and delete the records that games store",
		cli.ListOf(con, operator.ListSakeTables, "table…\trecords\tbytes\tfields…", func(t storage.SakeTable) []string {
			names := make([]string, len(t.Columns))
			for i, c := range t.Columns {
				names[i] = c.Name
			}
			return []string{t.Name, strconv.Itoa(t.Records), strconv.FormatInt(t.Bytes, 10), cli.Dash(strings.Join(names, " "))}
		}),
		sakeShow(con),
		cli.Command(con, operator.DeleteSake, func(in operator.SakeTarget, out operator.Removed) error {
			return con.Say("deleted %s of table %s of %s", cli.Counted(out.Removed, "record"), in.Table, in.Game)
		}))
}

func clanCommand(con *cli.Console) *cobra.Command {
	return cli.Group("clan", "Manage the clans of Red Alert 3",
		cli.ListOf(con, operator.ListClans, "clan\ttag…\tname…\tprofile\trank", func(m clans.Member) []string {
			return []string{strconv.FormatUint(uint64(m.Clan), 10), m.Tag, m.Name, strconv.FormatUint(uint64(m.Profile), 10), strconv.Itoa(m.Rank)}
		}),
		cli.Command(con, operator.AddClanMember, func(_ operator.NewClanMember, m clans.Member) error {
			return con.Say("profile %d is in clan %s (%s)", m.Profile, cli.Printable(m.Tag), cli.Printable(m.Name))
		}),
		cli.Command(con, operator.RemoveClanMember, func(_ operator.ClanRef, m clans.Member) error {
			return con.Say("profile %d is not in clan %s any more", m.Profile, cli.Printable(m.Tag))
		}))
}

func sakeShow(con *cli.Console) *cobra.Command {
	in := new(operator.SakeQuery)
	return cli.Showing(con, &operator.ListSakeRecords.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		q := *in
		var all []storage.SakeRecord
		for left := in.Limit; left > 0; left = in.Limit - len(all) {
			q.Limit = min(left, operator.MaxSakeListed)
			page, err := operator.ListSakeRecords.Call(ctx, c, q)
			if err != nil {
				return err
			}
			all = append(all, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].ID
		}
		return cli.Show(con, "id\towner\tchanged\tfields", all, func(r storage.SakeRecord) []string {
			return []string{strconv.FormatUint(uint64(r.ID), 10), strconv.FormatUint(uint64(r.Owner), 10), cli.Stamp(r.Changed), cli.Dash(sakeFields(r))}
		})
	})
}

// maxSakeText is how many characters of the name and of the value of a field are shown.
const maxSakeText = 60

func sakeFields(r storage.SakeRecord) string {
	all := make([]string, len(r.Fields))
	for i, f := range r.Fields {
		all[i] = clean.Shorten(f.Name, maxSakeText+1) + "=" + clean.Shorten(f.Value.String(), maxSakeText+1)
	}
	return strings.Join(all, " ")
}
