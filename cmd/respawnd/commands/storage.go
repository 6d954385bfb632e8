package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/storage/copying"

	tables "github.com/respawnd/respawnd/storage/engine"
)

func storageCommand(con *cli.Console) *cobra.Command {
	return cli.Group("storage", "Copy the whole store", storageCopyCommand(con))
}

// copyHelp is the help of `storage copy`.
const copyHelp = `Copies everything from one store to another: accounts, statistics, bans and all
other records, with their ids and times. Both sides are then compared.

--from and --to are bolt:PATH (a file, or the data folder that it is in) or
postgres:URL. bolt alone is the file in the data folder of the configuration,
postgres alone the database of storage.postgres, which keeps its password off
the command line.

No daemon may use either of them. The target must be empty. A copy that was
interrupted continues when the same command runs again.

The contents of files that players uploaded are copied too: they are beside a
bolt file and in a database. The key files stay in the data folder.`

func storageCopyCommand(con *cli.Console) *cobra.Command {
	var from, to string
	cmd := con.JSONFlag(con.Configured("copy --from STORE --to STORE", "Copy everything from one storage engine to another", cobra.NoArgs,
		func(ctx context.Context, cfg *services.Config, _ []string) error {
			return storageCopy(ctx, con, cfg, from, to)
		}))
	cmd.Long = copyHelp
	cmd.Flags().StringVar(&from, "from", "", "store to copy: bolt, bolt:PATH, postgres or postgres:URL")
	cmd.Flags().StringVar(&to, "to", "", "empty store to copy to, in the same form")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if from == "" || to == "" {
			return cli.Misused(errors.New("--from and --to are needed, such as --from bolt --to postgres"))
		}
		return nil
	}
	return cmd
}

// storageCopy copies one store to another.
func storageCopy(ctx context.Context, con *cli.Console, cfg *services.Config, from, to string) (err error) {
	source, err := engine.ParseEndpoint(from, cfg.DataDir, cfg.Storage)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	target, err := engine.ParseEndpoint(to, cfg.DataDir, cfg.Storage)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	if source.String() == target.String() {
		return errors.New("--from and --to are the same store")
	}
	log := newLogger(con.Err, "error", cfg.Log.Format)
	a, err := source.Open(ctx, true, log)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := target.Open(ctx, false, log)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	r, leftOut, err := copyTables(ctx, con, source.String(), a, b)
	if err != nil {
		return fmt.Errorf("%w\nThe source is unchanged. If the copy was interrupted, the same command continues it", err)
	}
	meter := new(cli.Meter)
	contents, err := files.New(a.Store, source.Folder(cfg.DataDir)).CopyTo(ctx, files.New(b.Store, target.Folder(cfg.DataDir)), func(size int64) io.Writer {
		meter = con.Meter(size)
		return meter
	})
	meter.End()
	if err != nil {
		return fmt.Errorf("copy the contents of files: %w\nThe source is unchanged. The target cannot be completed: copy again into an empty one", err)
	}
	return sayCopied(con, source, target, copied{r, source.String(), target.String(), leftOut, contents})
}

// progressEvery is the least time between two lines of progress.
const progressEvery = time.Second

// copyTables copies with progress on standard error: on a terminal the rest of the time, else a line a
// second. It returns how many damaged entries were left out.
func copyTables(ctx context.Context, con *cli.Console, source string, from, to *engine.Side) (r copying.Result, leftOut int, err error) {
	said, meter := time.Now(), new(cli.Meter)
	if cli.IsTerminal(con.Err) {
		size, err := from.Size(ctx)
		if err != nil {
			return r, 0, err
		}
		meter = con.Meter(2 * size) // it is copied, then compared
	}
	defer meter.End()
	r, err = engine.Copy(ctx, from, to, copying.Options{
		Source: source,
		Progress: func(t tables.Table, entries int) {
			if now := time.Now(); now.Sub(said) >= progressEvery && !cli.IsTerminal(con.Err) {
				said = now
				_, _ = fmt.Fprintf(con.Err, "%s: %d\n", t, entries)
			}
		},
		Seen: meter.Add,
		Damaged: func(t tables.Table, key []byte, err error) {
			leftOut++
			_, _ = fmt.Fprintf(con.Err, "warning: a damaged entry of %s is left out: %q: %v\n", t, key, err)
		},
	})
	return r, leftOut, err
}

// copied is the JSON of a copy.
type copied struct {
	copying.Result

	From    string `json:"from"`
	To      string `json:"to"`
	LeftOut int    `json:"left_out"`
	// Contents is how many contents of players' files were copied.
	Contents int `json:"contents"`
}

func sayCopied(con *cli.Console, from, to engine.Endpoint, r copied) error {
	if con.JSON {
		return json.NewEncoder(con.Out).Encode(r)
	}
	var rows [][]string
	for _, t := range r.Tables {
		if t.Entries > 0 {
			rows = append(rows, []string{string(t.Table), fmt.Sprint(t.Entries), fmt.Sprint(t.Bytes), t.Digest})
		}
	}
	if err := con.Table("table\tentries\tbytes\tSHA-256 of both sides", rows); err != nil {
		return err
	}
	done := "copied"
	if r.Resumed {
		done = "continued the copy of"
	}
	if err := con.Say("%s %d entries from %s to %s; both sides are equal", done, r.Entries, from, to); err != nil {
		return err
	}
	if r.Contents > 0 {
		if err := con.Say("copied the contents of %s", cli.Counted(r.Contents, "file")); err != nil {
			return err
		}
	}
	if r.LeftOut > 0 {
		return con.Say("%d damaged entries were left out", r.LeftOut)
	}
	return nil
}

// restoreInto copies the store of an unpacked backup into the database of the
// configuration.
func restoreInto(ctx context.Context, con *cli.Console, cfg *services.Config, dir, source string) (err error) {
	target, err := engine.ParseEndpoint(engine.Postgres, cfg.DataDir, cfg.Storage)
	if err != nil {
		return err
	}
	backup, err := engine.ParseEndpoint(engine.Bolt+":"+filepath.Join(dir, engine.FileName), cfg.DataDir, cfg.Storage)
	if err != nil {
		return err
	}
	log := newLogger(con.Err, "error", cfg.Log.Format)
	from, err := backup.Open(ctx, true, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := target.Open(ctx, false, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, _, err = copyTables(ctx, con, source, from, to); errors.Is(err, copying.ErrNotEmpty) {
		err = fmt.Errorf("%w; create an empty database and name it in %s", err, target.Key())
	}
	return err
}
