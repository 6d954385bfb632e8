package kit

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"github.com/respawnd/respawnd/internal/games"
)

// The scripts that add the lines of a game to the hosts file. Each line has a comment that
// names the game, with which a second run and an undo find it.
var (
	//go:embed hosts.sh
	shellScript string
	//go:embed hosts.bat
	batchScript string

	scripts = map[string]*template.Template{
		"sh": template.Must(template.New("sh").Parse(shellScript)), "bat": template.Must(template.New("bat").Parse(batchScript)),
	}
)

// script is the data of a script. All of it is checked by newScript.
type script struct {
	Game    string // short name
	Address string
	Names   []string
	Mark    string // at the end of each line
}

// Script returns the script of a kind, sh or bat, that adds the lines of the game to the hosts
// file, and removes them again.
func (k *Kit) Script(kind string) (File, error) {
	names, err := k.names()
	if err != nil {
		return File{}, err
	}
	s, err := newScript(k.Game.Name, k.Address, names)
	if err != nil {
		return File{}, err
	}
	return File{"hosts-" + k.Game.Name + "." + kind, s.write(kind)}, nil
}

// newScript returns the data for a script. Whatever a file of games states, only
// characters pass that mean nothing to any shell: those of names of games, and of
// hosts.
func newScript(game string, at netip.Addr, names []string) (script, error) {
	if !games.ValidName(game) || !at.Is4() || len(names) == 0 {
		return script{}, fmt.Errorf("no script for game %q at %s with %d names", game, at, len(names))
	}
	for _, n := range names {
		if n == "" || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" || n[0] == '-' {
			return script{}, fmt.Errorf("%q cannot be in a script", n)
		}
	}
	return script{Game: game, Address: at.String(), Names: names, Mark: "# respawnd " + game + ";"}, nil
}

func (s script) write(kind string) []byte {
	var b bytes.Buffer
	if err := scripts[kind].Execute(&b, s); err != nil {
		panic(err) // the templates fit
	}
	if kind == "bat" {
		return []byte(windows(b.String()))
	}
	return b.Bytes()
}

// windows returns a text with the ends of lines that Windows' programs of that time need.
func windows(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
