package operations

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/operator"
)

const recordHelp = `Records what the address of a player and the services of the running daemon say to each
other, into GAME.jsonl or --file. It ends after --for, after %d MiB, or with Ctrl-C. Have the
player do what fails meanwhile.

Passwords, proofs, tickets, CD keys, e-mail addresses and what players write to each other are
overwritten before anything is kept; a service that does not say what is secret is recorded as
lengths. Only this node of a cluster is recorded. respawnd replay plays a recording again.`

// recorded is the output with --json.
type recorded struct {
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Messages int    `json:"messages"`
	Ended    string `json:"ended"` // why
}

func recordCommand(con *cli.Console) *cobra.Command {
	var file string
	in := new(operator.NewRecording)
	cmd := cli.Showing(con, &operator.Record.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		path := file
		if path == "" {
			path = filepath.Base(in.Game) + ".jsonl"
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = operator.Record.Call(ctx, c, *in, &begun{f, func() error {
			if con.JSON {
				return nil
			}
			return con.Say("recording %s; Ctrl-C ends it", in.Address)
		}})
		if ctx.Err() != nil {
			err = nil // what was recorded until then is good
		}
		out := recorded{File: path}
		if err == nil {
			err = out.read(f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		if con.JSON {
			return con.PrintObject(out)
		}
		return con.Say("wrote %s (%d bytes): %s; %s", path, out.Bytes, cli.Counted(out.Messages, "message"), out.Ended)
	})
	cmd.Long = fmt.Sprintf(recordHelp, dialogue.MaxBytes>>20)
	cmd.Flags().StringVar(&file, "file", "", "the file, which must not exist; by default GAME.jsonl")
	return cmd
}

// begun writes to a file, and calls say before its first bytes.
type begun struct {
	file *os.File
	say  func() error
}

func (b *begun) Write(p []byte) (int, error) {
	if say := b.say; say != nil {
		b.say = nil
		if err := say(); err != nil {
			return 0, err
		}
	}
	return b.file.Write(p)
}

// read sums up what was written to f.
func (r *recorded) read(f *os.File) error {
	if _, err := f.Seek(0, 0); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, events, err := dialogue.Read(f)
	if err != nil {
		return fmt.Errorf("nothing was recorded: %w", err)
	}
	r.Bytes, r.Messages, r.Ended = info.Size(), dialogue.Messages(events), dialogue.Ended(events)
	return nil
}
