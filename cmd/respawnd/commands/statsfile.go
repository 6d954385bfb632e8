package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
)

func (p *program) statsExport() *cobra.Command {
	return p.operatorCommand("export FILE", "Write the data and scores of all players, one line of JSON each; - is standard output", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			return p.export(args[0], "", func(w io.Writer) (int, error) { return op.ExportStats(ctx, w) })
		})
}

func (p *program) statsImport() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Add the data and scores of an export to profiles that have none", Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := p.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error { return p.importStats(ctx, op, in) })
		},
	}
	cmd.Long = cmd.Short + ".\n\nThe profiles must exist: import the accounts first, which keep their numbers."
	return cmd
}

// maxStatsBatch is how many bytes of data are held for one call of ImportStats. A single
// player may have more.
const maxStatsBatch = 8 << 20

// importStats stores statistics as it reads them.
func (p *program) importStats(ctx context.Context, op operator.Operator, in io.Reader) error {
	var batch []operator.StoredStats
	stored, refused, size := 0, 0, 0
	flush := func() error {
		results, err := op.ImportStats(ctx, batch)
		for _, r := range results {
			if r.Error == "" {
				stored++
				continue
			}
			refused++
			_, _ = fmt.Fprintf(p.err, "profile %d: %s\n", r.Profile, printable(r.Error))
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
	if err := p.say("imported the statistics of %s, refused %d", counted(stored, "player"), refused); err != nil || refused == 0 {
		return err
	}
	return reportedError{errors.New("statistics were refused")}
}
