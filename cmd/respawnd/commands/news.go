package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) motdCommand() *cobra.Command {
	return group("motd", "Manage the messages of the day that games ask for", p.motdSet(), p.motdShow(), p.motdClear())
}

func (p *program) motdSet() *cobra.Command {
	return p.operatorCommand("set GAME TEXT", "Set the message of the day of a game; takes effect at once", cobra.MinimumNArgs(2),
		func(ctx context.Context, op operator.Conn, args []string) error {
			m := storage.Motd{Game: storage.Fold(args[0]), Text: strings.Join(args[1:], " "), By: "cli"}
			return p.confirm(operator.SetMotd.Exec(ctx, op, m), "set the message of the day of %s", printable(m.Game))
		})
}

func (p *program) motdShow() *cobra.Command {
	return p.listCommand("show [GAME]", "Show the message of the day of a game, or all that were set", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Conn, args []string) error {
			all, err := operator.ListMotds.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return show(p, "game…\tset\ttext…", all, func(m storage.Motd) []string {
					return []string{m.Game, stamp(m.Set), strings.ReplaceAll(m.Text, "\n", " / ")}
				})
			}
			i := slices.IndexFunc(all, func(m storage.Motd) bool { return m.Game == storage.Fold(args[0]) })
			switch {
			case i < 0:
				return fmt.Errorf("message of the day of %q: %w", args[0], storage.ErrNotFound)
			case p.json:
				return p.printObject(all[i])
			}
			for line := range strings.SplitSeq(all[i].Text, "\n") {
				if err := p.say("%s", printable(line)); err != nil {
					return err
				}
			}
			return nil
		})
}

func (p *program) motdClear() *cobra.Command {
	return command(p, operator.ClearMotd, func(in operator.MotdRef, _ operator.Removed) error {
		return p.say("removed the message of the day of %s", printable(in.Game))
	})
}

func (p *program) patchCommand() *cobra.Command {
	return group("patch", "Announce newer versions to games", p.patchAdd(), p.patchList(), p.patchRemove())
}

// errNoPatch is the error for a command that names no patch.
var errNoPatch = errors.New("--product and --version are missing: the outdated game sends them, see `respawnd patch list`")

// namesPatch refuses a command that names no patch.
func namesPatch(product *int, version *string, cmd *cobra.Command) *cobra.Command {
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if *product < 0 || *version == "" {
			return usageError{errNoPatch}
		}
		return check(cmd, args)
	}
	return cmd
}

func (p *program) patchAdd() *cobra.Command {
	in := new(operator.NewPatch)
	return namesPatch(&in.Product, &in.Version, commandOf(p, &operator.AddPatch.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		return p.confirm(operator.AddPatch.Exec(ctx, c, *in), "%s is announced to games of product %d, version %s", printable(in.Name), in.Product, printable(in.Version))
	}))
}

func (p *program) patchList() *cobra.Command {
	return p.listCommand("list", "Show the patches, and the versions of games that asked", cobra.NoArgs,
		func(ctx context.Context, op operator.Conn, _ []string) error {
			all, err := operator.ListPatches.Call(ctx, op, operator.None{})
			if err != nil {
				return err
			}
			if p.json {
				return p.patchJSON(&all)
			}
			err = p.table("product\tversion…\tnewer version…\trequired\tfrom\taddress…", rows(all.Patches, func(q news.Patch) []string {
				from := "store"
				if q.Configured {
					from = "configuration"
				}
				return []string{strconv.Itoa(q.Product), q.Version, q.Name, yesNo(q.Lockout), from, dash(q.URL)}
			}))
			if err != nil || len(all.Versions) == 0 {
				return err
			}
			if err := p.say(""); err != nil {
				return err
			}
			return p.table("game that asked…\tproduct\tversion…\ttimes", rows(all.Versions, func(c news.Count) []string {
				return []string{dash(c.Game), strconv.Itoa(c.Product), c.Version.Version, strconv.FormatInt(c.Times, 10)}
			}))
		})
}

// patchJSON prints the patches and the versions of games that asked. The field
// kind distinguishes them.
func (p *program) patchJSON(all *operator.PatchList) error {
	for _, q := range all.Patches {
		if err := p.printObject(struct {
			Kind string `json:"kind"`
			news.Patch
		}{"patch", q}); err != nil {
			return err
		}
	}
	for _, c := range all.Versions {
		if err := p.printObject(struct {
			Kind string `json:"kind"`
			news.Count
		}{"asked", c}); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) patchRemove() *cobra.Command {
	in := new(operator.PatchRef)
	return namesPatch(&in.Product, &in.Version, commandOf(p, &operator.RemovePatch.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		return p.confirm(operator.RemovePatch.Exec(ctx, c, *in), "withdrew the patch for product %d, version %s", in.Product, printable(in.Version))
	}))
}
