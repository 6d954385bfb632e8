package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func statsCommand(con *cli.Console) *cobra.Command {
	stats := cli.Group("stats", "Show and repair the statistics of players: data, scores, reported games",
		statsGame(con), statsShow(con), statsSet(con), statsDelete(con), statsExport(con), statsImport(con))
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
	return con.ListCommand("show PROFILE [GAME KIND INDEX]", "Show the stored data of a player, or write one block of it", argCounts(1, 4),
		func(ctx context.Context, op operator.Conn, args []string) error {
			q, err := statsArgs(args)
			if err != nil {
				return err
			}
			if q.Kind != nil {
				b, err := operator.GetStatBlock.Call(ctx, op, operator.BlockRef(q))
				switch {
				case err != nil:
					return statsMissing(err)
				case con.JSON:
					return con.PrintObject(b)
				}
				_, err = con.Out.Write(b.Data)
				return err
			}
			s, err := operator.GetPlayerStats.Call(ctx, op, operator.ProfileRef{ID: q.Profile})
			switch {
			case err != nil:
				return statsMissing(err)
			case con.JSON:
				return con.PrintObject(s)
			}
			if err := con.Say("profile %d, %s", s.Profile, cli.Dash(cli.Printable(s.Nick))); err != nil {
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
		})
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

// argCounts accepts the given numbers of arguments.
func argCounts(counts ...int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(counts, len(args)) {
			return nil
		}
		return fmt.Errorf("%d arguments: the command is %s", len(args), cmd.UseLine())
	}
}

// statsArgs reads PROFILE [GAME [KIND INDEX]].
func statsArgs(args []string) (q operator.StatsSelection, err error) {
	id, err := strconv.ParseUint(args[0], 10, 31)
	if err != nil || id == 0 {
		return q, cli.Misused(fmt.Errorf("%q is not the number of a profile: `respawnd account show EMAIL` prints those of an account", args[0]))
	}
	q.Profile = storage.ProfileID(id)
	if len(args) > 1 {
		q.Game = args[1]
	}
	if len(args) < 4 {
		return q, nil
	}
	kind, err := strconv.ParseUint(args[2], 10, 8)
	if err != nil || kind > uint64(storage.StatPublicWrite) {
		return q, cli.Misused(fmt.Errorf("%q is not a kind: 0 or 1 are private, 2 or 3 public", args[2]))
	}
	index, err := strconv.ParseUint(args[3], 10, 31)
	if err != nil {
		return q, cli.Misused(fmt.Errorf("%q is not an index: a number from 0 to %d", args[3], math.MaxInt32))
	}
	k, i := storage.StatKind(kind), int32(index)
	q.Kind, q.Index = &k, &i
	return q, nil
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
	cmd := con.OperatorCommand("set PROFILE GAME KIND INDEX [TEXT]", "Store data for a player in place of the present data", argCounts(4, 5),
		func(ctx context.Context, op operator.Conn, args []string) error {
			q, err := statsArgs(args)
			if err != nil {
				return err
			}
			data, err := blockData(con, args[4:], file)
			if err != nil {
				return err
			}
			id := storage.StatBlockID{Game: q.Game, Profile: q.Profile, Kind: *q.Kind, Index: *q.Index}
			b, err := operator.SetStatBlock.Call(ctx, op, operator.NewStatBlock{StatBlockID: id, Data: data})
			return con.Confirm(statsMissing(err), "stored %s for profile %d: %s, kind %s, index %d, modified %s",
				cli.Counted(len(data), "byte"), q.Profile, cli.Printable(q.Game), kindText(id.Kind), id.Index, cli.Stamp(b.Modified))
		})
	cmd.Long = cmd.Short + ".\n\nTEXT that begins with a backslash is a list \\key\\value\\key\\value; games expect a NUL behind it, which is added."
	cmd.Flags().StringVar(&file, "file", "", "file with the data, stored as it is; - is standard input")
	return cmd
}

// errOneSource is the error for a block whose data are given twice or not at all.
var errOneSource = errors.New("the data are either TEXT or --file FILE")

// blockData returns the data of a block from an argument or from a file.
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
	cmd := cli.CommandOf(con, &operator.DeleteStats.Operation, new(operator.StatsSelection), func(ctx context.Context, c operator.Conn, args []string) error {
		q, err := statsArgs(args)
		if err != nil {
			return err
		}
		out, err := operator.DeleteStats.Call(ctx, c, q)
		return con.Confirm(statsMissing(err), "deleted %s of profile %d", cli.Counted(out.Removed, "record"), q.Profile)
	})
	cmd.Use, cmd.Args = "delete PROFILE [GAME [KIND INDEX]]", cli.Usage(argCounts(1, 2, 4))
	return cmd
}
