package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) cdkeyCommand() *cobra.Command {
	return group("cdkey", "Manage the CD keys of products",
		p.cdkeyAdd(), p.cdkeyImport(), p.cdkeyList(), p.cdkeyRemove(), p.cdkeyBan(), p.cdkeyUnban())
}

// errNoProduct is the error for a command without a product.
var errNoProduct = errors.New("--product is missing: the number of the product, as its game servers send it")

// productFlag adds --product to a command that needs it.
func productFlag(cmd *cobra.Command, product *int) *cobra.Command {
	cmd.Flags().IntVar(product, "product", -1, "number of the product, as its game servers send it")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *product < 0 {
			return usageError{errNoProduct}
		}
		return nil
	}
	return cmd
}

func (p *program) cdkeyAdd() *cobra.Command {
	var product int
	return productFlag(p.operatorCommand("add KEY...", "Add CD keys; they are valid at once", cobra.MinimumNArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			return p.addCDKeys(ctx, op, product, args)
		}), &product)
}

// addCDKeys adds keys of a product and says how many are new.
func (p *program) addCDKeys(ctx context.Context, op operator.Operator, product int, keys []string) error {
	added := 0
	for part := range slices.Chunk(keys, operator.MaxCDKeysAdded) {
		n, err := op.AddCDKeys(ctx, operator.NewCDKeys{Product: product, Keys: part, By: "cli"})
		added += n
		if err != nil {
			return fmt.Errorf("%w (%s added)", err, counted(added, "key"))
		}
	}
	return p.say("added %s of product %d, %d known already", counted(added, "key"), product, len(keys)-added)
}

func (p *program) cdkeyImport() *cobra.Command {
	var product int
	return productFlag(p.operatorCommand("import FILE", "Add the CD keys of a file, one on each line", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			keys, err := readLines(args[0])
			if err != nil {
				return err
			}
			return p.addCDKeys(ctx, op, product, keys)
		}), &product)
}

// readLines returns the lines of a file without spaces around them, empty ones and
// those that begin with # left out.
func readLines(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var lines []string
	text := bufio.NewScanner(f)
	for text.Scan() {
		if line := strings.TrimSpace(text.Text()); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	if len(lines) > storage.MaxProductKeys {
		return nil, fmt.Errorf("%s has more than %d keys", path, storage.MaxProductKeys)
	}
	return lines, text.Err()
}

func (p *program) cdkeyList() *cobra.Command {
	product := -1
	cmd := p.listCommand("list", "Show all CD keys by their hash", cobra.NoArgs,
		func(ctx context.Context, op operator.Operator, _ []string) error {
			q := operator.CDKeyQuery{Product: product}
			var all []operator.CDKey
			for {
				page, err := op.CDKeys(ctx, q)
				if err != nil {
					return err
				}
				all = append(all, page...)
				if len(page) < operator.MaxCDKeysListed {
					break
				}
				q.After = page[len(page)-1].ProductKeyID
			}
			return show(p, "product\thash\tstate\tadded\treason…", all, func(k operator.CDKey) []string {
				return []string{strconv.Itoa(k.Product), k.Hash, keyState(k), stamp(k.Added), dash(k.Reason)}
			})
		})
	cmd.Flags().IntVar(&product, "product", -1, "only of the product with this number")
	return cmd
}

// keyState returns the state of a key.
func keyState(k operator.CDKey) string {
	switch {
	case k.Banned:
		return "banned"
	case k.Known:
		return "good"
	}
	return "-"
}

func (p *program) cdkeyRemove() *cobra.Command {
	return p.cdkeyChange("remove KEY|HASH", "Remove a CD key with its ban", "removed", operator.Operator.RemoveCDKey)
}

func (p *program) cdkeyUnban() *cobra.Command {
	return p.cdkeyChange("unban KEY|HASH", "Lift the ban of a CD key", "lifted the ban of", operator.Operator.UnbanCDKey)
}

func (p *program) cdkeyBan() *cobra.Command {
	var reason string
	cmd := p.cdkeyChange("ban KEY|HASH", "Ban a CD key; takes effect at once, in permissive mode too", "banned",
		func(op operator.Operator, ctx context.Context, id storage.ProductKeyID) error {
			return op.BanCDKey(ctx, operator.CDKeyBan{ProductKeyID: id, Reason: reason, By: "cli"})
		})
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown in the list")
	return cmd
}

// cdkeyChange returns a command that changes one key.
func (p *program) cdkeyChange(use, short, done string, change func(operator.Operator, context.Context, storage.ProductKeyID) error) *cobra.Command {
	var product int
	return productFlag(p.operatorCommand(use, short, cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			id := operator.CDKeyID(product, args[0])
			err := change(op, ctx, id)
			if errors.Is(err, storage.ErrNotFound) {
				err = fmt.Errorf("%w: `respawnd cdkey list` shows all", err)
			}
			return p.confirm(err, "%s CD key %s of product %d", done, id.Hash, id.Product)
		}), &product)
}
