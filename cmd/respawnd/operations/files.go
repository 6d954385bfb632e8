package operations

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func filesCommand(con *cli.Console) *cobra.Command {
	return cli.Group("files", "Show, copy and delete the files that players uploaded",
		filesList(con), filesShow(con), filesGet(con),
		cli.Command(con, operator.DeleteFile, func(in operator.FileRef, _ operator.Removed) error { return con.Say("deleted file %d", in.ID) }))
}

func filesList(con *cli.Console) *cobra.Command {
	q := new(operator.FileQuery)
	return cli.Showing(con, &operator.ListFiles.Operation, q, func(ctx context.Context, c operator.Conn, _ []string) error {
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
		return cli.Show(con, "id\tgame…\tprofile\tbytes\tuploaded\tdownloads\tname…", all, func(f storage.File) []string {
			return []string{
				fmt.Sprint(f.ID), f.Game, fmt.Sprint(f.Owner), fmt.Sprint(f.Size), cli.Stamp(f.Created), fmt.Sprint(f.Downloads), cli.Dash(f.Name),
			}
		})
	})
}

func filesShow(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.GetFile, func(_ operator.FileRef, f storage.File) error {
		if con.JSON {
			return con.PrintObject(f)
		}
		return con.Say("id: %d\ngame: %s\nprofile: %d\nname: %s\nbytes: %d\nSHA-256: %s\nuploaded: %s\ndownloads: %d",
			f.ID, f.Game, f.Owner, cli.Dash(cli.Printable(f.Name)), f.Size, f.Hash, cli.Stamp(f.Created), f.Downloads)
	}))
}

func filesGet(con *cli.Console) *cobra.Command {
	in := new(operator.FileRef)
	cmd := cli.CommandOf(con, &operator.ReadFile.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		size, err := backup.Replace(args[1], func(w io.Writer) error {
			_, err := operator.ReadFile.Call(ctx, c, *in, w)
			return err
		})
		return con.Confirm(err, "wrote %s (%d bytes)", args[1], size)
	})
	cmd.Use, cmd.Args = cmd.Use+" FILE", cli.Usage(cobra.ExactArgs(2))
	return cmd
}
