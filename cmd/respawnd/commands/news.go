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
		func(ctx context.Context, op operator.Operator, args []string) error {
			m := storage.Motd{Game: storage.Fold(args[0]), Text: strings.Join(args[1:], " "), By: "cli"}
			return p.confirm(op.SetMotd(ctx, m), "set the message of the day of %s", printable(m.Game))
		})
}

func (p *program) motdShow() *cobra.Command {
	return p.listCommand("show [GAME]", "Show the message of the day of a game, or all that were set", cobra.MaximumNArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			all, err := op.Motds(ctx)
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
	return p.operatorCommand("clear GAME", "Remove the message of the day of a game", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			return p.confirm(op.ClearMotd(ctx, args[0]), "removed the message of the day of %s", printable(args[0]))
		})
}

func (p *program) patchCommand() *cobra.Command {
	return group("patch", "Announce newer versions to games", p.patchAdd(), p.patchList(), p.patchRemove())
}

// errNoPatch is the error for a command that names no patch.
var errNoPatch = errors.New("--product and --version are missing: the outdated game sends them, see `respawnd patch list`")

// patchFlags adds the flags that name a patch.
func patchFlags(cmd *cobra.Command, id *storage.PatchID) *cobra.Command {
	cmd.Flags().IntVar(&id.Product, "product", -1, "number of the product, as the outdated game sends it")
	cmd.Flags().StringVar(&id.Version, "version", "", "version of the outdated game, as it sends it")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if id.Product < 0 || id.Version == "" {
			return usageError{errNoPatch}
		}
		return nil
	}
	return cmd
}

func (p *program) patchAdd() *cobra.Command {
	patch := storage.Patch{By: "cli"}
	cmd := p.operatorCommand("add NAME", "Announce a newer version by its name; takes effect at once", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			patch.Name = args[0]
			return p.confirm(op.AddPatch(ctx, patch), "%s is announced to games of product %d, version %s", printable(patch.Name), patch.Product, printable(patch.Version))
		})
	cmd.Flags().StringVar(&patch.URL, "url", "", "address of the download")
	cmd.Flags().IntVar(&patch.File, "file", 0, "number of the file, for games that ask for a list of mirrors")
	cmd.Flags().BoolVar(&patch.Lockout, "lockout", false, "the game must not be played online without it")
	return patchFlags(cmd, &patch.PatchID)
}

func (p *program) patchList() *cobra.Command {
	return p.listCommand("list", "Show the patches, and the versions of games that asked", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			all, err := op.Patches(ctx)
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
	var id storage.PatchID
	return patchFlags(p.operatorCommand("remove", "Withdraw a patch", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			return p.confirm(op.RemovePatch(ctx, id), "withdrew the patch for product %d, version %s", id.Product, printable(id.Version))
		}), &id)
}
