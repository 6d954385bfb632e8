package operations

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

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func cdkeyCommand(con *cli.Console) *cobra.Command {
	return cli.Group("cdkey", "Manage the CD keys of products",
		cdkeyAdd(con), cdkeyImport(con), cdkeyList(con),
		onCDKey(con, operator.RemoveCDKey, "removed", refOfCDKey), onCDKey(con, operator.UnbanCDKey, "lifted the ban of", refOfCDKey),
		onCDKey(con, operator.BanCDKey, "banned", func(in *operator.CDKeyBan) (*int, *string) { return &in.Product, &in.Hash }))
}

func cdkeyAdd(con *cli.Console) *cobra.Command {
	in := new(operator.NewCDKeys)
	return cli.CommandOf(con, &operator.AddCDKeys.Operation, in, func(ctx context.Context, c operator.Conn, _ []string) error {
		return addCDKeys(ctx, con, c, *in)
	})
}

// addCDKeys adds keys of a product and says how many are new.
func addCDKeys(ctx context.Context, con *cli.Console, c operator.Conn, in operator.NewCDKeys) error {
	keys, added := in.Keys, 0
	for in.Keys = range slices.Chunk(keys, operator.MaxCDKeysAdded) {
		n, err := operator.AddCDKeys.Call(ctx, c, in)
		added += n.Added
		if err != nil {
			return fmt.Errorf("%w (%s added)", err, cli.Counted(added, "key"))
		}
	}
	return con.Say("added %s of product %d, %d known already", cli.Counted(added, "key"), in.Product, len(keys)-added)
}

func cdkeyImport(con *cli.Console) *cobra.Command {
	in, o := new(operator.NewCDKeys), operator.AddCDKeys.As("cdkey import", "Add the CD keys of a file, one on each line")
	cmd := cli.CommandOf(con, &o.Operation, in, func(ctx context.Context, c operator.Conn, args []string) (err error) {
		if in.Keys, err = readLines(args[0]); err != nil {
			return err
		}
		return addCDKeys(ctx, con, c, *in)
	})
	cmd.Use, cmd.Args = "import FILE", cli.Usage(cobra.ExactArgs(1))
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

func cdkeyList(con *cli.Console) *cobra.Command {
	q := new(operator.CDKeyQuery)
	return cli.Showing(con, &operator.ListCDKeys.Operation, q, func(ctx context.Context, c operator.Conn, _ []string) error {
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
		return cli.Show(con, "product\thash\tstate\tadded\treason…", all, func(k operator.CDKey) []string {
			return []string{strconv.Itoa(k.Product), k.Hash, keyState(k), cli.Stamp(k.Added), cli.Dash(k.Reason)}
		})
	})
}

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
func onCDKey[In, Out any](con *cli.Console, o *operator.Op[In, Out], done string, key func(*In) (*int, *string)) *cobra.Command {
	in := new(In)
	return cli.CommandOf(con, &o.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		product, hash := key(in)
		*hash = operator.CDKeyID(*product, args[0]).Hash
		err := o.Exec(ctx, c, *in)
		if errors.Is(err, storage.ErrNotFound) {
			err = fmt.Errorf("%w: `respawnd cdkey list` shows all", err)
		}
		return con.Confirm(err, "%s CD key %s of product %d", done, *hash, *product)
	})
}

func refOfCDKey(in *operator.CDKeyRef) (*int, *string) { return &in.Product, &in.Hash }
