package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func statsCommand(con *cli.Console) *cobra.Command {
	stats := cli.Group("stats", "Show and repair the statistics of players: data, scores, reported games",
		statsGame(con), statsShow(con), statsSet(con), statsDelete(con),
		exporting(con, operator.ExportStats, new(operator.None), func() string { return "" }), statsImport(con))
	stats.Long = stats.Short + ".\n\n" +
		"PROFILE is the number of a profile, which `respawnd account show` prints.\n" +
		"KIND is 0 (private, games only read it), 1 (private), 2 (public, games only read it) or 3 (public).\n" +
		"INDEX is a number that the game chose, often 0."
	return stats
}

func statsGame(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.GetGameStats, func(_ operator.GameStatsQuery, s operator.GameStats) error {
		if con.JSON {
			return con.PrintObject(s)
		}
		for _, b := range s.Boards {
			if err := con.Say("board %s: %s", cli.Printable(cmp.Or(b.Title, b.Name)), firstScores(len(b.Scores))); err != nil {
				return err
			}
			if err := con.Table("rank\tscore\tprofile\tnick…\tupdated", cli.Rows(b.Scores, func(r operator.RankedProfile) []string {
				return []string{strconv.Itoa(r.Rank), score(r.Value), strconv.Itoa(int(r.Profile)), cli.Dash(r.Nick), cli.Stamp(r.Updated)}
			})); err != nil {
				return err
			}
		}
		return con.Table("report\tserver\tbegan\tupdated\tstate\tplayers\tbytes", cli.Rows(s.Reports, func(r operator.GameReport) []string {
			server := "-"
			if r.Server.IsValid() {
				server = r.Server.String()
			}
			return []string{
				strconv.FormatUint(r.ID, 10), server, cli.Stamp(r.Started), cli.Stamp(r.Updated), reportState(r), r.PlayersText(), strconv.Itoa(r.Bytes),
			}
		}))
	}))
}

// firstScores returns a number of scores in words.
func firstScores(n int) string {
	if n == 0 {
		return "no scores"
	}
	return "the first " + cli.Counted(n, "score")
}

// score returns a score as it is shown: whole numbers without point.
func score(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// reportState returns how far a reported game is.
func reportState(r operator.GameReport) string {
	state := "running"
	if r.Done {
		state = "final"
	}
	if !r.Trusted {
		state += ", reported afterwards"
	}
	return state
}

func statsShow(con *cli.Console) *cobra.Command {
	in, o := new(operator.BlockRef), operator.GetStatBlock.As("stats show", "Show the stored data of a player, or write one block of it")
	return cli.Showing(con, &o.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		if in.Kind != nil {
			b, err := o.Call(ctx, c, *in)
			switch {
			case err != nil:
				return statsMissing(err)
			case con.JSON:
				return con.PrintObject(b)
			}
			_, err = con.Out.Write(b.Data)
			return err
		}
		s, err := operator.GetPlayerStats.Call(ctx, c, operator.ProfileRef{ID: in.Profile})
		switch {
		case err != nil:
			return statsMissing(err)
		case con.JSON:
			return con.PrintObject(s)
		}
		return sayStats(con, &s)
	})
}

// sayStats prints the data and scores of a player.
func sayStats(con *cli.Console, s *operator.PlayerStats) error {
	if err := con.Say("profile %d, %s", s.Profile, cli.Dash(s.Nick)); err != nil {
		return err
	}
	if err := con.Table("game…\tkind\tindex\tbytes\tmodified\tdata…", cli.Rows(s.Blocks, func(b operator.StatBlockInfo) []string {
		text := b.Text
		switch {
		case b.Bytes == 0:
			text = "(empty)"
		case text == "":
			text = "(binary)"
		}
		return []string{b.Game, kindText(b.Kind), strconv.Itoa(int(b.Index)), strconv.Itoa(b.Bytes), cli.Stamp(b.Modified), text}
	})); err != nil {
		return err
	}
	return con.Table("game…\tboard…\tscore\trank\tupdated", cli.Rows(s.Scores, func(s storage.Score) []string {
		return []string{s.Game, s.Board, score(s.Value), strconv.Itoa(s.Rank), cli.Stamp(s.Updated)}
	}))
}

// kindText returns a kind of block with its meaning.
func kindText(k storage.StatKind) string {
	text := strconv.Itoa(int(k)) + " public"
	if k.Private() {
		text = strconv.Itoa(int(k)) + " private"
	}
	if k.ReadOnly() {
		text += ", read-only"
	}
	return text
}

// statsMissing adds to an error that there is no such record how to find one.
func statsMissing(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%w: `respawnd account show` prints the profiles of an account, `respawnd stats show PROFILE` the stored data", err)
	}
	return err
}

func statsSet(con *cli.Console) *cobra.Command {
	var file string
	in := new(operator.NewStatBlock)
	cmd := cli.CommandOf(con, &operator.SetStatBlock.Operation, in, func(ctx context.Context, c operator.Conn, args []string) (err error) {
		if in.Data, err = blockData(con, args[4:], file); err != nil {
			return err
		}
		b, err := operator.SetStatBlock.Call(ctx, c, *in)
		return con.Confirm(statsMissing(err), "stored %s for profile %d: %s, kind %s, index %d, modified %s",
			cli.Counted(len(in.Data), "byte"), in.Profile, cli.Printable(in.Game), kindText(in.Kind), in.Index, cli.Stamp(b.Modified))
	})
	cmd.Long = cmd.Short + ".\n\nTEXT that begins with a backslash is a list \\key\\value\\key\\value; games expect a NUL behind it, which is added."
	cmd.Flags().StringVar(&file, "file", "", "file with the data, stored as it is; - is standard input")
	return cmd
}

// errOneSource is the error for a block whose data are given twice or not at all.
var errOneSource = errors.New("the data are either TEXT or --file FILE")

func blockData(con *cli.Console, text []string, file string) ([]byte, error) {
	if (len(text) == 0) == (file == "") {
		return nil, cli.Misused(errOneSource)
	}
	if len(text) > 0 {
		data := []byte(text[0])
		if strings.HasPrefix(text[0], `\`) {
			data = append(data, 0)
		}
		return data, nil
	}
	in := con.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, storage.MaxStatBlock+1))
	if err == nil && len(data) > storage.MaxStatBlock {
		err = fmt.Errorf("%s is longer than %d bytes", file, storage.MaxStatBlock)
	}
	return data, err
}

func statsDelete(con *cli.Console) *cobra.Command {
	in := new(operator.StatsSelection)
	return cli.CommandOf(con, &operator.DeleteStats.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		out, err := operator.DeleteStats.Call(ctx, c, *in)
		return con.Confirm(statsMissing(err), "deleted %s of profile %d", cli.Counted(out.Removed, "record"), in.Profile)
	})
}
