package games

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// File is a file that a game loads over HTTP.
type File struct {
	// Path is that of the request, with * for any characters: 1 to MaxFilePath
	// printable characters of ASCII that begin with a slash or *. Case is not significant.
	Path string
	Is   FileKind
	// Text is the file, for FileText; at most MaxFileText bytes.
	Text string
}

// FileKind is the source of a file's content.
type FileKind string

// The kinds.
const (
	FileText      FileKind = "text"       // Text
	FileMotd      FileKind = "motd"       // the message of the day
	FileMotdUTF16 FileKind = "motd_utf16" // the same in UTF-16, low byte first
	FileServServ  FileKind = "servserv"   // by the end of the path: config.txt and MOTD of EA's games, else a line feed
	FileRoomPairs FileKind = "room_pairs" // the group rooms of the game as a table in Lua
	FileBFHQ      FileKind = "bfhq"       // by the end of the path: the pages of Battlefield 2's players, and its servers' rounds
)

// FileKinds returns all kinds.
func FileKinds() []FileKind {
	return []FileKind{FileText, FileMotd, FileMotdUTF16, FileServServ, FileRoomPairs, FileBFHQ}
}

// Bounds of File.
const (
	MaxFiles     = 16 // per game
	MaxFilePath  = 128
	MaxFileText  = 16 << 10
	maxWildcards = 4
)

// MaxRequestPath is the length of the longest path that is compared with those of files.
const MaxRequestPath = 256

// String returns the file as in lists of differences.
func (f File) String() string { return f.Path + " " + string(f.Is) }

// literal returns how many characters of the path are not wildcards.
func (f *File) literal() int { return len(f.Path) - strings.Count(f.Path, "*") }

// matches reports whether the path of a request, in lower case, has the form of Path.
func (f *File) matches(path string) bool {
	pattern := f.Path
	star, mark := -1, 0 // behind the last wildcard, and its match so far
	i, j := 0, 0
	for j < len(path) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i+1, j
			i++
		case i < len(pattern) && pattern[i] == path[j]:
			i++
			j++
		case star >= 0:
			mark++
			i, j = star, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// fileOf is a file of a game.
type fileOf struct {
	game *Game
	*File
}

// addFiles collects the files of all games, the most exact paths first.
func (idx *index) addFiles() {
	for i := range idx.games {
		g := &idx.games[i]
		for k := range g.Files {
			idx.files = append(idx.files, fileOf{g, &g.Files[k]})
		}
	}
	slices.SortStableFunc(idx.files, func(a, b fileOf) int { return cmp.Compare(b.literal(), a.literal()) })
}

// File returns the file that a request for a path on a host is for: the one with the
// most exact path; of several such, that of a game that has the host. of are the names
// of the games that it may belong to, sorted.
func (c *Catalog) File(host, path string) (of []string, f File, ok bool) {
	idx := c.current.Load()
	if idx == nil || len(path) > MaxRequestPath {
		return nil, File{}, false
	}
	host, path = ascii.ToLower(host), ascii.ToLower(path)
	var found, here []fileOf
	for _, f := range idx.files {
		if len(found) > 0 && f.literal() < found[0].literal() {
			break
		}
		if !f.matches(path) {
			continue
		}
		found = append(found, f)
		if slices.ContainsFunc(f.game.Hosts, func(h Host) bool { return h.Name == host }) {
			here = append(here, f)
		}
	}
	if len(here) > 0 {
		found = here
	}
	for _, f := range found {
		if !slices.Contains(of, f.game.Name) {
			of = append(of, f.game.Name)
		}
	}
	if len(found) == 0 {
		return nil, File{}, false
	}
	return of, *found[0].File, true
}

// files reads the files of a game.
func (y *yamlReader) files(k, n *yaml.Node) (out []File) {
	for _, item := range y.items(k, n) {
		f := File{Is: FileText}
		y.eachKey(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "path":
				f.Path = ascii.ToLower(y.text(k, v))
			case "is":
				f.Is = FileKind(y.text(k, v))
			case "text":
				f.Text = y.text(k, v)
			default:
				y.bad(k, "files: unknown key %q", shorten(key))
			}
		})
		out = append(out, f)
	}
	return out
}

// checkFiles reports files that a game cannot have.
func checkFiles(files []File, bad func(string, ...any)) {
	if len(files) > MaxFiles {
		bad("%d files, at most %d are allowed", len(files), MaxFiles)
		return
	}
	for i, f := range files {
		badFile := func(format string, args ...any) { bad("file %q: %s", shorten(f.Path), fmt.Sprintf(format, args...)) }
		switch {
		case !validFilePath(f.Path):
			badFile("the path must be 1 to %d printable characters that begin with / or *, with at most %d *", MaxFilePath, maxWildcards)
		case !slices.Contains(FileKinds(), f.Is):
			badFile("%q is not one of %s", shorten(string(f.Is)), joinKinds())
		case f.Is != FileText && f.Text != "":
			badFile("text is for files that are text")
		case len(f.Text) > MaxFileText || !utf8.ValidString(f.Text) || strings.Contains(f.Text, "\x00"):
			badFile("the text must be UTF-8 of at most %d bytes", MaxFileText)
		case slices.ContainsFunc(files[:i], func(o File) bool { return o.Path == f.Path }):
			badFile("it is there twice")
		}
	}
}

func joinKinds() string {
	var words []string
	for _, k := range FileKinds() {
		words = append(words, string(k))
	}
	return strings.Join(words, ", ")
}

// validFilePath reports whether a text can be File.Path.
func validFilePath(p string) bool {
	return p != "" && len(p) <= MaxFilePath && (p[0] == '/' || p[0] == '*') && strings.Count(p, "*") <= maxWildcards &&
		!strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || 'A' <= r && r <= 'Z' })
}

// appendFiles appends files in the form that files reads.
func appendFiles(b []byte, files []File) []byte {
	for i, f := range files {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(append(b, "{path: "...), f.Path)
		if f.Is == FileText {
			b = strconv.AppendQuote(append(b, ", text: "...), f.Text)
		} else {
			b = append(append(b, ", is: "...), f.Is...)
		}
		b = append(b, '}')
	}
	return b
}
