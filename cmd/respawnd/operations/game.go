package operations

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

func gameCommand(con *cli.Console) *cobra.Command {
	return cli.Group("game", "Show and change the catalogue of games",
		con.JSONFlag(cli.Command(con, operator.ListGames, func(_ operator.None, list operator.GameList) error { return showGames(con, list) })),
		gameSearch(con), gameShow(con), gameAdd(con),
		cli.Command(con, operator.DeleteGame, func(in operator.GameRef, _ operator.Removed) error {
			return con.Say("removed your record of %s", in.Game)
		}),
		gameImport(con), roomCommand(con))
}

type listedGame struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	ID    int    `json:"id,omitzero"`
	Port  int    `json:"port"`
	Key   bool   `json:"key"` // its secret key is known
}

func listedGames(list []games.Game) []listedGame {
	out := make([]listedGame, len(list))
	for i := range list {
		g := &list[i]
		out[i] = listedGame{Name: g.Name, Title: g.Title, ID: g.ID, Port: int(g.QueryPort), Key: g.Usable()}
	}
	return out
}

func showGames(con *cli.Console, list []games.Game) error {
	return cli.Show(con, "name\tport\tkey\ttitle…", listedGames(list), func(g listedGame) []string {
		return []string{g.Name, strconv.Itoa(g.Port), cli.YesNo(g.Key), g.Title}
	})
}

func gameSearch(con *cli.Console) *cobra.Command {
	return con.JSONFlag(con.OperatorCommand("search WORDS", "Find games by what players call them, the best match first", cobra.MinimumNArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			list, err := operator.ListGames.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			return showGames(con, games.Search(list, strings.Join(args, " ")))
		}))
}

func gameShow(con *cli.Console) *cobra.Command {
	return con.OperatorCommand("show NAME", "Show one game in the format of games.file", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			list, err := operator.ListGames.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			g, err := con.PickGame(list, args[0], games.FindNamed)
			if err != nil {
				return err
			}
			cfg, _, err := con.Load()
			if err != nil {
				return con.ListMistakes(err)
			}
			for _, line := range g.Says(daemon.Served(cfg), nil) {
				if err := con.Say("# here: %s", cli.Printable(line)); err != nil {
					return err
				}
			}
			for _, base := range list {
				if slices.Contains(base.Aliases, g.Name) {
					if err := con.Say("# another name of %s", base.Name); err != nil {
						return err
					}
				}
			}
			return games.WriteYAML(con.Out, []games.Game{g})
		})
}

func gameAdd(con *cli.Console) *cobra.Command {
	var g games.Game
	cmd := con.OperatorCommand("add NAME", operator.PutGames.What, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, _ []string) error {
			return con.Confirm(operator.PutGames.Exec(ctx, op, []games.Game{g}), "stored %s", g.Name)
		})
	cmd.PreRun = func(cmd *cobra.Command, args []string) {
		g.Name = strings.ToLower(args[0])
		for _, flag := range []string{"backend-flags", "disabled-services", "maintenance"} {
			if cmd.Flags().Changed(flag) {
				g.Given |= games.FieldsOf(strings.ReplaceAll(flag, "-", "_"))
			}
		}
	}
	f := cmd.Flags()
	f.StringVar(&g.Title, "title", "", "title shown to players")
	f.StringSliceVar(&g.Secrets, "secret", nil, "secret key; the first is used, all are accepted")
	f.IntVar(&g.ID, "id", 0, "numeric id")
	f.Uint16Var(&g.QueryPort, "port", 0, "standard query port")
	f.Uint16Var(&g.BackendFlags, "backend-flags", 0, "128: servers want a challenge before they answer queries")
	f.Uint32Var(&g.DisabledServices, "disabled-services", 0, "availability answer: 1 gone, 2 down for now")
	f.BoolVar(&g.Maintenance, "maintenance", false, "answer \"down for now\"")
	return cmd
}

func gameImport(con *cli.Console) *cobra.Command {
	var list []games.Game
	var report games.Report
	cmd := con.OperatorCommand("import FILE", operator.ImportFile.What, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Conn, _ []string) error {
			result, err := operator.ImportGames(ctx, op, list, report)
			if err != nil {
				return err
			}
			return sayImport(con, &result)
		})
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if list, report, err = games.Import(f, args[0]); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		return nil
	}
	return cmd
}

// sayImport prints the result of an import of games: entries left out on standard error, the rest
// on standard output, the counts last.
func sayImport(con *cli.Console, r *operator.GameImport) error {
	for _, reason := range r.LeftOut {
		_, _ = fmt.Fprintf(con.Err, "refused: %s\n", cli.Printable(reason))
	}
	more := func(w io.Writer, all, shown int) {
		if all > shown {
			_, _ = fmt.Fprintf(w, "... and %d more\n", all-shown)
		}
	}
	more(con.Err, r.LeftOutOf, len(r.LeftOut))
	for _, g := range r.Taken {
		what := "new"
		if !g.New {
			what = strings.Join(g.Fields, ", ")
		}
		_, _ = fmt.Fprintf(con.Out, "taken: %s: %s\n", g.Game, what)
	}
	more(con.Out, r.New+r.Changed, len(r.Taken))
	for _, d := range r.Differ {
		format := "differs: %s: %s stays %s, is %s in the list\n"
		if d.Taken {
			format = "differs: %s: %s was %s, is %s now\n"
		}
		_, _ = fmt.Fprintf(con.Out, format, d.Game, d.Field, cli.Dash(d.Here), cli.Dash(d.Imported))
	}
	more(con.Out, r.Differing(), len(r.Differ))
	fields := make([]string, 0, len(r.DifferBy))
	for _, name := range slices.Sorted(maps.Keys(r.DifferBy)) {
		fields = append(fields, fmt.Sprintf("%s %d", name, r.DifferBy[name]))
	}
	differ := strconv.Itoa(r.Differing())
	if len(fields) > 0 {
		differ += " (" + strings.Join(fields, ", ") + ")"
	}
	return con.Say("read %d games, stored %d that add something: %d new, %d changed; %d records merged, %d left out; values that differ: %s",
		r.Games, r.Stored, r.New, r.Changed, r.Merged, r.LeftOutOf, differ)
}
