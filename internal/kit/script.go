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

// The scripts that add the lines of games to the hosts file. Each line has a comment that
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

// script is the data of a script. All of it is checked by part.
type script struct {
	Games   string // short names
	File    string // name of the script without its kind
	Address string
	Parts   []part
}

// part is the lines of one game.
type part struct {
	Mark  string // at the end of each line
	Names []string
}

// Count returns the number of names.
func (s script) Count() (n int) {
	for _, p := range s.Parts {
		n += len(p.Names)
	}
	return n
}

// Hosts returns what adds the lines of games to the hosts file, with one kit for each: the
// lines (txt), or a script that adds them and removes them again (sh, bat).
func Hosts(kind string, kits ...*Kit) (File, error) {
	s, text := script{File: "hosts-games", Address: kits[0].Address.String()}, ""
	short := make([]string, len(kits))
	for i, k := range kits {
		short[i] = k.Game.Name
		if kind == "txt" {
			f, err := k.HostsFile()
			if err != nil {
				return File{}, err
			}
			text += string(f.Text)
			continue
		}
		names, err := k.names()
		if err != nil {
			return File{}, err
		}
		if len(names) == 0 && len(kits) > 1 {
			continue // it looks up none
		}
		p, err := newPart(k.Game.Name, k.Address, names)
		if err != nil {
			return File{}, err
		}
		s.Parts = append(s.Parts, p)
	}
	if s.Games = strings.Join(short, ", "); len(kits) == 1 {
		s.File = "hosts-" + short[0]
	}
	if kind != "txt" {
		if len(s.Parts) == 0 {
			return File{}, fmt.Errorf("none of the games %s looks up names", s.Games)
		}
		text = string(s.write(kind))
	}
	return File{s.File + "." + kind, []byte(text)}, nil
}

// newPart returns the lines of a game. Whatever a file of games states, only
// characters pass that mean nothing to any shell: those of names of games, and of
// hosts.
func newPart(game string, at netip.Addr, names []string) (part, error) {
	if !games.ValidName(game) || !at.Is4() || len(names) == 0 {
		return part{}, fmt.Errorf("no script for game %q at %s with %d names", game, at, len(names))
	}
	for _, n := range names {
		if n == "" || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" || n[0] == '-' {
			return part{}, fmt.Errorf("%q cannot be in a script", n)
		}
	}
	return part{"# respawnd " + game + ";", names}, nil
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
