package operations

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
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
		}), playedExport(con))
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

func playedExport(con *cli.Console) *cobra.Command {
	return cli.CommandOf(con, &operator.ExportPlayed.Operation, new(operator.None), func(ctx context.Context, c operator.Conn, _ []string) error {
		_, err := operator.ExportPlayed.Call(ctx, c, operator.None{}, con.Out)
		return err
	})
}
