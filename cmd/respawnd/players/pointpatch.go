package players

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/binpatch"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/webservices/auth"
)

const pointPatchHelp = `Replaces the domain under which a game looks for its services, in the file of its
program, after showing every place. The new domain must not be longer than the old
one: gamespy.com has 11 characters. --auth-key also replaces the modulus of the key of
the web services; the file holds the output of "respawnd webservices key". --http makes
the game ask these domains over http where it asks over https. --game makes the changes
that a game is known to need, and names those that are not made by this command.

A copy of the file is kept beside it, and --undo puts it back. Signed and packed
programs are refused: changed ones do not start.

A game does not need this if the hosts file or DNS can redirect its host names.`

// maxKeyFile is the maximum number of bytes read from the file of --auth-key.
const maxKeyFile = 4 << 10

// patching is one use of the command.
type patching struct {
	o           *pointing
	domain, key string
	from        []string
	game        string
	http, undo  bool
}

func pointPatchCommand(con *cli.Console) *cobra.Command {
	c := &patching{o: &pointing{p: con}}
	cmd := cli.Leaf("patch FILE --domain DOMAIN", "Replace the domain in the program of a game, or put it back", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error {
			switch given := c.domain != "" || c.key != "" || c.http || c.game != ""; {
			case c.undo && !given:
				return con.Confirm(binpatch.Undo(args[0]), "%s is as it was", args[0])
			case !c.undo && given:
				return c.patch(ctx, args[0])
			default:
				return cli.Misused(errors.New("want --domain, --auth-key, --http, --game, or --undo alone"))
			}
		})
	cmd.Long = pointPatchHelp
	flags := cmd.Flags()
	flags.StringVar(&c.domain, "domain", "", "the new domain, such as example.org")
	flags.StringSliceVar(&c.from, "from", []string{games.DefaultDomain, games.NintendoDomain}, "the domains that are replaced")
	flags.StringVar(&c.key, "auth-key", "", "file with the modulus of the server's key, 256 hex digits")
	flags.BoolVar(&c.http, "http", false, "ask the domains over http in place of https")
	flags.StringVar(&c.game, "game", "", "make the changes that this game is known to need")
	flags.BoolVar(&c.undo, "undo", false, "put the copy back")
	flags.BoolVar(&c.o.yes, "yes", false, "do not ask")
	flags.BoolVar(&c.o.onlyShown, "dry-run", false, "only show the places")
	return cmd
}

// patch shows the places, asks, and replaces.
func (c *patching) patch(ctx context.Context, path string) error {
	c.o.file = path
	if err := c.known(ctx); err != nil {
		return err
	}
	all, err := c.replacements()
	if err != nil {
		return err
	}
	edits, refused := binpatch.Search(path, all)
	if len(edits) == 0 && refused != nil {
		return fmt.Errorf("%s: %w", path, refused)
	}
	n := 0
	for _, e := range edits {
		if e.Why == "" {
			n++
		}
		if err := c.sayEdit(e); err != nil {
			return err
		}
	}
	switch {
	case refused != nil:
		return fmt.Errorf("%s: %w", path, refused)
	case n == 0:
		return fmt.Errorf("%s: nothing in it can be replaced: is it the program of the game? The names may be in another file beside it, such as a .dll", path)
	case c.o.onlyShown:
		return nil
	}
	if err := c.o.confirm("Replace %s in %s?", cli.Counted(n, "place"), path); err != nil {
		return err
	}
	backup, err := binpatch.Apply(path, edits)
	if err != nil {
		return c.o.explain(err)
	}
	return c.o.p.Say("replaced %s. The file as it was: %s\nBack again: respawnd point patch --undo %s", cli.Counted(n, "place"), backup, path)
}

// known adds the changes that the game is known to need.
func (c *patching) known(ctx context.Context) error {
	if c.game == "" {
		return nil
	}
	cfg, _, err := c.o.p.Load()
	if err != nil {
		return c.o.p.ListMistakes(err)
	}
	g, err := c.o.p.FindGame(ctx, cfg, c.game)
	if err != nil {
		return fmt.Errorf("--game: %w", err)
	}
	all := g.Patches()
	if len(all) == 0 {
		return fmt.Errorf("%s is not known to need a changed program", g.Name)
	}
	for _, change := range all {
		switch {
		case change == games.HTTPSToHTTP:
			c.http = true
		case change == games.NewDomain && c.domain == "":
			return cli.Misused(fmt.Errorf("%s needs --domain", g.Name))
		case change == games.AuthKey && c.key == "":
			return cli.Misused(fmt.Errorf("%s needs --auth-key", g.Name))
		case !change.Made():
			if err := c.o.p.Say("%s", change.Advice(nil)); err != nil {
				return err
			}
		}
	}
	if !slices.ContainsFunc(all, games.Change.Made) {
		return fmt.Errorf("%s needs no change that this command makes", g.Name)
	}
	return nil
}

// sayEdit prints a place.
func (c *patching) sayEdit(e binpatch.Edit) error {
	const width = 100 // the modulus has more
	what := "-> " + e.By.New
	if e.By.Old == e.By.New {
		what = "-> http"
	}
	if e.Why != "" {
		what = "left: " + e.Why
	}
	text := e.Text
	if len(text) > width {
		text = text[:width] + cli.Ellipsis
	}
	if len(what) > width {
		what = what[:width] + cli.Ellipsis
	}
	return c.o.p.Say("%#09x %-6s %s\n          %s", e.Offset, e.Width, cli.Printable(text), cli.Printable(what))
}

func (c *patching) replacements() (all []binpatch.Replacement, err error) {
	if c.domain != "" || c.http {
		for _, old := range c.from {
			all = append(all, binpatch.Replacement{Old: old, New: strings.ToLower(cmp.Or(c.domain, old)), HTTP: c.http})
		}
	}
	if c.key != "" {
		modulus, err := readModulus(c.key)
		if err != nil {
			return nil, fmt.Errorf("--auth-key: %w", err)
		}
		all = append(all, binpatch.Replacement{Old: auth.OriginalModulus, New: modulus, Exact: true})
	}
	for _, r := range all {
		if err := r.Check(); err != nil {
			return nil, cli.Misused(err)
		}
	}
	return all, nil
}

// readModulus reads a modulus as `respawnd webservices key` prints it.
func readModulus(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return "", err
	}
	modulus := strings.ToUpper(strings.TrimSpace(string(text)))
	if len(modulus) != len(auth.OriginalModulus) || strings.Trim(modulus, "0123456789ABCDEF") != "" {
		return "", fmt.Errorf("%s holds no modulus of 256 hex digits", path)
	}
	return modulus, nil
}
