// Package hostsfile edits the hosts file of an operating system, where the names that
// a game looks up can be given the address of another server. It keeps every line that
// it did not write, byte by byte, with the line ends and the byte order mark of the
// file.
//
// Lines of a game end with a mark, the comment "# respawnd GAME;". The scripts of the
// web pages write the same, so that either removes lines of the other.
//
// It knows no game, asks no DNS server, and asks for no rights.
package hostsfile

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of a file.
const (
	// MaxSize is the length of the longest file that is read or written, in bytes.
	MaxSize = 1 << 20
	// maxLine is the length of the longest line that is searched for names, in bytes;
	// longer lines stay as they are. No resolver reads lines of that length.
	maxLine = 4 << 10
)

// Errors of files that cannot be edited.
var (
	ErrTooLarge = errors.New("the hosts file is larger than 1 MiB")
	// ErrNotText means bytes that no resolver reads, such as those of UTF-16.
	ErrNotText = errors.New("the hosts file is not plain text: if an editor saved it as Unicode (UTF-16), save it as ANSI or UTF-8 first")
)

const (
	bom        = "\xef\xbb\xbf"
	markBegins = "# respawnd "
)

// Mark returns the comment at the end of each line of a game.
func Mark(game string) string { return markBegins + game + ";" }

// Entry is one name in a line with a mark.
type Entry struct {
	Game    string     `json:"game"`
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
}

// ConflictError reports a line that gives one of the names another address. Resolvers
// take the first line of a name.
type ConflictError struct {
	Line    int // counted from 1
	Name    string
	Address netip.Addr
	Game    string // whose line it is; empty: it has no mark
}

// Error includes the remedy.
func (e *ConflictError) Error() string {
	if e.Game != "" {
		return fmt.Sprintf("line %d leads %s to %s, for the game %s: undo that game first", e.Line, e.Name, e.Address, e.Game)
	}
	return fmt.Sprintf("line %d leads %s to %s already: remove that line first", e.Line, e.Name, e.Address)
}

// File is the content of a hosts file.
type File struct {
	bom   bool
	lines []string // each with its end, which the last one may lack
	end   string   // of lines that are added
}

// Parse reads the content of a file.
func Parse(data []byte) (*File, error) {
	switch {
	case len(data) > MaxSize:
		return nil, ErrTooLarge
	case bytes.IndexByte(data, 0) >= 0:
		return nil, ErrNotText
	}
	f := &File{end: "\n"}
	rest, had := strings.CutPrefix(string(data), bom)
	f.bom = had
	for line := range strings.Lines(rest) {
		f.lines = append(f.lines, line)
	}
	if len(f.lines) > 0 && strings.HasSuffix(f.lines[0], "\r\n") || rest == "" && runtime.GOOS == "windows" {
		f.end = "\r\n"
	}
	return f, nil
}

// Bytes returns the content.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	if f.bom {
		b.WriteString(bom)
	}
	for _, line := range f.lines {
		b.WriteString(line)
	}
	return b.Bytes()
}

// Entries returns the names in all lines with a mark, in their order.
func (f *File) Entries() (list []Entry) {
	for _, line := range f.lines {
		if game := gameOf(line); game != "" {
			at, names := parts(line)
			for _, name := range names {
				list = append(list, Entry{game, name, at})
			}
		}
	}
	return list
}

// Set replaces the lines of a game by new ones that lead names to an address. The
// error is a *ConflictError if another line gives one of them another IPv4 address;
// nothing has changed then.
func (f *File) Set(game string, at netip.Addr, names []string) error {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[ascii.ToLower(name)] = true
	}
	for i, line := range f.lines {
		of := gameOf(line)
		if of == game {
			continue
		}
		other, found := parts(line)
		if !other.Is4() || other == at {
			continue
		}
		for _, name := range found {
			if wanted[ascii.ToLower(name)] {
				return &ConflictError{Line: i + 1, Name: name, Address: other, Game: of}
			}
		}
	}
	f.Remove(game)
	if last := len(f.lines) - 1; last >= 0 && !strings.HasSuffix(f.lines[last], "\n") {
		f.lines[last] += f.end // it must not run into the first new line
	}
	mark := Mark(game)
	f.lines = append(f.lines, mark+" begin: removed by respawnd point --undo "+game+f.end)
	for _, name := range names {
		f.lines = append(f.lines, at.String()+" "+name+" "+mark+f.end)
	}
	f.lines = append(f.lines, mark+" end"+f.end)
	return nil
}

// Move gives all lines of games another address. The error is a *ConflictError as that of Set; the
// file must not be written then.
func (f *File) Move(at netip.Addr) error {
	names := make(map[string][]string)
	var order []string
	for _, e := range f.Entries() {
		if names[e.Game] == nil {
			order = append(order, e.Game)
		}
		if !slices.Contains(names[e.Game], e.Name) {
			names[e.Game] = append(names[e.Game], e.Name)
		}
	}
	f.Remove("") // or a game conflicts with the next one
	for _, game := range order {
		if err := f.Set(game, at, names[game]); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes the lines of a game, of all games if it is empty, and returns how
// many names they had.
func (f *File) Remove(game string) (names int) {
	kept := f.lines[:0]
	for _, line := range f.lines {
		of := gameOf(line)
		if of == "" || game != "" && of != game {
			kept = append(kept, line)
			continue
		}
		_, found := parts(line)
		names += len(found)
	}
	f.lines = kept
	return names
}

// gameOf returns the game whose mark a line has, empty if it has none.
func gameOf(line string) string {
	_, rest, found := strings.Cut(line, markBegins)
	if !found {
		return ""
	}
	game, _, found := strings.Cut(rest, ";")
	if !found || strings.ContainsAny(game, " \t") {
		return ""
	}
	return game
}

// parts returns the address and the names of a line, none if it is no such line.
func parts(line string) (at netip.Addr, names []string) {
	if len(line) > maxLine {
		return at, nil
	}
	text, _, _ := strings.Cut(line, "#")
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return at, nil
	}
	at, err := netip.ParseAddr(fields[0])
	if err != nil {
		return at, nil
	}
	return at, fields[1:]
}
