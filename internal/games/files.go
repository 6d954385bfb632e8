package games

import (
	"cmp"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// File is a file that a game loads over HTTP.
type File struct {
	// Path of the request, without regard to case; * stands for any characters. The
	// most exact one counts; hosts decides between games.
	Path string `yaml:"path,required,lower" as:"path" max:"128"`
	// text: the text beside it. motd: the message of the day. motd_utf16: the same in
	// UTF-16. room_pairs: the rooms as a table in Lua. servserv: config.txt, MOTD and
	// patches of EA's games. bfhq, stella: pages of the players of Battlefield 2 and of
	// Battlefield 2142, and the rounds of their servers.
	Is FileKind `yaml:"is" words:"text, motd, motd_utf16, servserv, room_pairs, bfhq, stella" default:"text"`
	// The file.
	Text string `yaml:"text,unless=is" as:"content" max:"16384"`
}

func (f *File) rules(bad func(string, ...any)) {
	if f.Is != FileText && f.Text != "" {
		bad("text is for files that are text")
	}
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
	FileStella    FileKind = "stella"     // the same of Battlefield 2142
)

// maxWildcards is the number of * in the path of a file.
const maxWildcards = 4

// MaxRequestPath is the length of the longest path that is compared with those of files.
const MaxRequestPath = 256

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
