package commands

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) filesCommand() *cobra.Command {
	return group("files", "Show, copy and delete the files that players uploaded",
		p.filesList(), p.filesShow(), p.filesGet(), p.filesDelete())
}

func (p *program) filesList() *cobra.Command {
	return p.listCommand("list [GAME]", "Show the files of a game, or of all", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			q := operator.FileQuery{}
			if len(args) > 0 {
				q.Game = storage.Fold(args[0])
			}
			var all []storage.File
			for {
				page, err := op.ListFiles(ctx, q)
				if err != nil {
					return err
				}
				all = append(all, page...)
				if len(page) < operator.MaxFilesListed {
					break
				}
				q.After = page[len(page)-1].ID
			}
			return show(p, "id\tgame…\tprofile\tbytes\tuploaded\tdownloads\tname…", all, func(f storage.File) []string {
				return []string{
					fmt.Sprint(f.ID), f.Game, fmt.Sprint(f.Owner), fmt.Sprint(f.Size), stamp(f.Created), fmt.Sprint(f.Downloads), dash(f.Name),
				}
			})
		})
}

// fileID reads the id of a file.
func fileID(text string) (storage.FileID, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return 0, usageError{fmt.Errorf("%q is not the id of a file: `respawnd files list` shows all", text)}
	}
	return storage.FileID(n), nil
}

// fileCommand returns a command about one file.
func (p *program) fileCommand(use, short string, args int, f func(context.Context, operator.Operator, storage.FileID, []string) error) *cobra.Command {
	return p.operatorCommand(use, short, cobra.ExactArgs(args), func(ctx context.Context, op operator.Operator, args []string) error {
		id, err := fileID(args[0])
		if err != nil {
			return err
		}
		return f(ctx, op, id, args)
	})
}

func (p *program) filesShow() *cobra.Command {
	return p.jsonFlag(p.fileCommand("show ID", "Show the details of a file", 1, func(ctx context.Context, op operator.Operator, id storage.FileID, _ []string) error {
		f, err := op.File(ctx, id)
		if err == nil && p.json {
			return p.printObject(f)
		}
		return p.confirm(err, "id: %d\ngame: %s\nprofile: %d\nname: %s\nbytes: %d\nSHA-256: %s\nuploaded: %s\ndownloads: %d",
			f.ID, f.Game, f.Owner, dash(printable(f.Name)), f.Size, f.Hash, stamp(f.Created), f.Downloads)
	}))
}

func (p *program) filesGet() *cobra.Command {
	return p.fileCommand("get ID FILE", "Copy the content of a file, as the player uploaded it", 2,
		func(ctx context.Context, op operator.Operator, id storage.FileID, args []string) error {
			size, err := backup.Replace(args[1], func(w io.Writer) error { return op.FileContent(ctx, id, w) })
			return p.confirm(err, "wrote %s (%d bytes)", args[1], size)
		})
}

func (p *program) filesDelete() *cobra.Command {
	return p.fileCommand("delete ID", "Delete a file and its content", 1,
		func(ctx context.Context, op operator.Operator, id storage.FileID, _ []string) error {
			return p.confirm(op.DeleteFile(ctx, id), "deleted file %d", id)
		})
}
