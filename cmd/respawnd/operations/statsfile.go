package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
)

func statsImport(con *cli.Console) *cobra.Command {
	cmd := importCommand(con, operator.ImportStats.What,
		func(ctx context.Context, op operator.Conn, in io.Reader) error { return importStats(ctx, con, op, in) })
	cmd.Long = cmd.Short + ".\n\nThe profiles must exist: import the accounts first, which keep their numbers."
	return cmd
}

// maxStatsBatch is how many bytes of data are held for one call of ImportStats. A single
// player may have more.
const maxStatsBatch = 8 << 20

// importStats stores statistics as it reads them.
func importStats(ctx context.Context, con *cli.Console, op operator.Conn, in io.Reader) error {
	var batch []operator.StoredStats
	stored, refused, size := 0, 0, 0
	flush := func() error {
		var results []operator.ImportedStats
		err := operator.InParts(batch, operator.MaxImport, func(part []operator.StoredStats) error {
			some, err := operator.ImportStats.Call(ctx, op, operator.StatsImport{Players: part})
			results = append(results, some...)
			return err
		})
		for _, r := range results {
			if r.Error == "" {
				stored++
				continue
			}
			refused++
			_, _ = fmt.Fprintf(con.Err, "player %d, profile %d: %s\n", stored+refused, r.Profile, cli.Printable(r.Error))
		}
		batch, size = batch[:0], 0
		return err
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	for {
		var s operator.StoredStats
		err := decoder.Decode(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("player %d of the file, after %d that were stored: %w", stored+refused+len(batch)+1, stored, err)
		}
		for i := range s.Blocks {
			size += len(s.Blocks[i].Data)
		}
		if batch = append(batch, s); len(batch) == operator.MaxStatsImport || size > maxStatsBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(batch) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if err := con.Say("imported the statistics of %s, refused %d", cli.Counted(stored, "player"), refused); err != nil || refused == 0 {
		return err
	}
	return cli.Reported(errors.New("statistics were refused"))
}
