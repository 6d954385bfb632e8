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

func (p *program) cdkeyAdd() *cobra.Command {
	in := new(operator.NewCDKeys)
	return commandOf(p, &operator.AddCDKeys.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		return p.addCDKeys(ctx, c, *in)
	})
}

// addCDKeys adds keys of a product and says how many are new.
func (p *program) addCDKeys(ctx context.Context, c operator.Conn, in operator.NewCDKeys) error {
	keys, added := in.Keys, 0
	for in.Keys = range slices.Chunk(keys, operator.MaxCDKeysAdded) {
		n, err := operator.AddCDKeys.Call(ctx, c, in)
		added += n.Added
		if err != nil {
			return fmt.Errorf("%w (%s added)", err, counted(added, "key"))
		}
	}
	return p.say("added %s of product %d, %d known already", counted(added, "key"), in.Product, len(keys)-added)
}

func (p *program) cdkeyImport() *cobra.Command {
	in := new(operator.NewCDKeys)
	o := operator.AddCDKeys.Operation
	o.What = "Add the CD keys of a file, one on each line"
	cmd := commandOf(p, &o, in, func(ctx context.Context, c operator.Conn, args []string) (err error) {
		if in.Keys, err = readLines(args[0]); err != nil {
			return err
		}
		return p.addCDKeys(ctx, c, *in)
	})
	cmd.Use, cmd.Args = "import FILE", usage(cobra.ExactArgs(1))
	return cmd
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
	q := new(operator.CDKeyQuery)
	return showing(p, &operator.ListCDKeys.Operation, q, func(ctx context.Context, c operator.Conn, _ []string) error {
		var all []operator.CDKey
		for {
			page, err := operator.ListCDKeys.Call(ctx, c, *q)
			if err != nil {
				return err
			}
			all = append(all, page...)
			if len(page) < operator.MaxCDKeysListed {
				break
			}
			last := page[len(page)-1]
			q.AfterProduct, q.AfterHash = last.Product, last.Hash
		}
		return show(p, "product\thash\tstate\tadded\treason…", all, func(k operator.CDKey) []string {
			return []string{strconv.Itoa(k.Product), k.Hash, keyState(k), stamp(k.Added), dash(k.Reason)}
		})
	})
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

// onCDKey returns the command of an operation on a CD key, of which key are the product and the hash in
// its input.
func onCDKey[In, Out any](p *program, o *operator.Op[In, Out], done string, key func(*In) (*int, *string)) *cobra.Command {
	in := new(In)
	return commandOf(p, &o.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		product, hash := key(in)
		*hash = operator.CDKeyID(*product, args[0]).Hash
		err := o.Exec(ctx, c, *in)
		if errors.Is(err, storage.ErrNotFound) {
			err = fmt.Errorf("%w: `respawnd cdkey list` shows all", err)
		}
		return p.confirm(err, "%s CD key %s of product %d", done, *hash, *product)
	})
}

func (p *program) cdkeyRemove() *cobra.Command {
	return onCDKey(p, operator.RemoveCDKey, "removed", refOfCDKey)
}

func (p *program) cdkeyUnban() *cobra.Command {
	return onCDKey(p, operator.UnbanCDKey, "lifted the ban of", refOfCDKey)
}

func refOfCDKey(in *operator.CDKeyRef) (*int, *string) { return &in.Product, &in.Hash }

func (p *program) cdkeyBan() *cobra.Command {
	return onCDKey(p, operator.BanCDKey, "banned", func(in *operator.CDKeyBan) (*int, *string) { return &in.Product, &in.Hash })
}
