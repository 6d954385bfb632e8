package commands

import (
	"context"
	"fmt"
	"io"

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
	q := new(operator.FileQuery)
	return showing(p, &operator.ListFiles.Operation, q, func(ctx context.Context, c operator.Conn, _ []string) error {
		q.Game = storage.Fold(q.Game)
		var all []storage.File
		for {
			page, err := operator.ListFiles.Call(ctx, c, *q)
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

func (p *program) filesShow() *cobra.Command {
	return p.jsonFlag(command(p, operator.GetFile, func(_ operator.FileRef, f storage.File) error {
		if p.json {
			return p.printObject(f)
		}
		return p.say("id: %d\ngame: %s\nprofile: %d\nname: %s\nbytes: %d\nSHA-256: %s\nuploaded: %s\ndownloads: %d",
			f.ID, f.Game, f.Owner, dash(printable(f.Name)), f.Size, f.Hash, stamp(f.Created), f.Downloads)
	}))
}

func (p *program) filesGet() *cobra.Command {
	in := new(operator.FileRef)
	cmd := commandOf(p, &operator.ReadFile.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		size, err := backup.Replace(args[1], func(w io.Writer) error {
			_, err := operator.ReadFile.Call(ctx, c, *in, w)
			return err
		})
		return p.confirm(err, "wrote %s (%d bytes)", args[1], size)
	})
	cmd.Use, cmd.Args = cmd.Use+" FILE", usage(cobra.ExactArgs(2))
	return cmd
}

func (p *program) filesDelete() *cobra.Command {
	return command(p, operator.DeleteFile, func(in operator.FileRef, _ operator.Removed) error { return p.say("deleted file %d", in.ID) })
}
