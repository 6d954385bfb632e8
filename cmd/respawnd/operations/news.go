package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func motdCommand(con *cli.Console) *cobra.Command {
	return cli.Group("motd", "Manage the messages of the day that games ask for", motdSet(con), motdShow(con),
		cli.Command(con, operator.ClearMotd, func(in operator.MotdRef, _ operator.Removed) error {
			return con.Say("removed the message of the day of %s", cli.Printable(in.Game))
		}))
}

func motdSet(con *cli.Console) *cobra.Command {
	cmd := cli.Looking(con, operator.SetMotd, func(_ context.Context, _ operator.Conn, in *operator.NewMotd, args []string) error {
		in.Game, in.Text = storage.Fold(in.Game), strings.Join(args[1:], " ")
		return nil
	}, func(in operator.NewMotd, _ operator.Done) error {
		return con.Say("set the message of the day of %s", cli.Printable(in.Game))
	})
	cmd.Args = cli.Usage(cobra.MinimumNArgs(2)) // of TEXT, each word may be one
	return cmd
}

func motdShow(con *cli.Console) *cobra.Command {
	cmd := cli.Showing(con, &operator.ListMotds.Operation, new(operator.None), func(ctx context.Context, c operator.Conn, args []string) error {
		all, err := operator.ListMotds.Call(ctx, c, operator.None{})
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return cli.Show(con, "game…\tset\ttext…", all, func(m storage.Motd) []string {
				return []string{m.Game, cli.Stamp(m.Set), strings.ReplaceAll(m.Text, "\n", " / ")}
			})
		}
		i := slices.IndexFunc(all, func(m storage.Motd) bool { return m.Game == storage.Fold(args[0]) })
		switch {
		case i < 0:
			return fmt.Errorf("message of the day of %q: %w", args[0], storage.ErrNotFound)
		case con.JSON:
			return con.PrintObject(all[i])
		}
		for line := range strings.SplitSeq(all[i].Text, "\n") {
			if err := con.Say("%s", cli.Printable(line)); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.Use, cmd.Args = "show [GAME]", cli.Usage(cobra.MaximumNArgs(1))
	return cmd
}

func patchCommand(con *cli.Console) *cobra.Command {
	return cli.Group("patch", "Announce newer versions to games", patchAdd(con), patchList(con), patchRemove(con))
}

// errNoPatch is the error for a command that names no patch.
var errNoPatch = errors.New("--product and --version are missing: the outdated game sends them, see `respawnd patch list`")

// namesPatch refuses a command that names no patch.
func namesPatch(product *int, version *string, cmd *cobra.Command) *cobra.Command {
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *product < 0 || *version == "" {
			return cli.Misused(errNoPatch)
		}
		return check(cmd, args)
	}
	return cmd
}

func patchAdd(con *cli.Console) *cobra.Command {
	in := new(operator.NewPatch)
	return namesPatch(&in.Product, &in.Version, cli.CommandOf(con, &operator.AddPatch.Operation, in,
		func(ctx context.Context, c operator.Conn, _ []string) error {
			return con.Confirm(operator.AddPatch.Exec(ctx, c, *in), "%s is announced to games of product %d, version %s",
				cli.Printable(in.Name), in.Product, cli.Printable(in.Version))
		}))
}

func patchList(con *cli.Console) *cobra.Command {
	return con.JSONFlag(cli.Command(con, operator.ListPatches, func(_ operator.None, all operator.PatchList) error {
		if con.JSON {
			return patchJSON(con, &all)
		}
		err := con.Table("product\tversion…\tnewer version…\trequired\tfrom\taddress…", cli.Rows(all.Patches, func(q news.Patch) []string {
			from := "store"
			if q.Configured {
				from = "configuration"
			}
			return []string{strconv.Itoa(q.Product), q.Version, q.Name, cli.YesNo(q.Lockout), from, cli.Dash(q.URL)}
		}))
		if err != nil || len(all.Versions) == 0 {
			return err
		}
		if err := con.Say(""); err != nil {
			return err
		}
		return con.Table("game that asked…\tproduct\tversion…\ttimes", cli.Rows(all.Versions, func(c news.Count) []string {
			return []string{cli.Dash(c.Game), strconv.Itoa(c.Product), c.Version.Version, strconv.FormatInt(c.Times, 10)}
		}))
	}))
}

// patchJSON prints the patches and the versions of games that asked. The field
// kind distinguishes them.
func patchJSON(con *cli.Console, all *operator.PatchList) error {
	for _, q := range all.Patches {
		if err := con.PrintObject(struct {
			Kind string `json:"kind"`
			news.Patch
		}{"patch", q}); err != nil {
			return err
		}
	}
	for _, c := range all.Versions {
		if err := con.PrintObject(struct {
			Kind string `json:"kind"`
			news.Count
		}{"asked", c}); err != nil {
			return err
		}
	}
	return nil
}

func patchRemove(con *cli.Console) *cobra.Command {
	in := new(operator.PatchRef)
	return namesPatch(&in.Product, &in.Version, cli.CommandOf(con, &operator.RemovePatch.Operation, in,
		func(ctx context.Context, c operator.Conn, _ []string) error {
			return con.Confirm(operator.RemovePatch.Exec(ctx, c, *in), "withdrew the patch for product %d, version %s", in.Product, cli.Printable(in.Version))
		}))
}

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
		m := con.Meter(0)
		size, err := backup.Replace(args[1], func(w io.Writer) error {
			defer m.End()
			_, err := operator.ReadFile.Call(ctx, c, *in, io.MultiWriter(w, m))
			return err
		})
		return con.Confirm(err, "wrote %s (%d bytes)", args[1], size)
	})
	cmd.Use, cmd.Args = cmd.Use+" FILE", cli.Usage(cobra.ExactArgs(2))
	return cmd
}
