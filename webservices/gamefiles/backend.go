package gamefiles

import (
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf16"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Options are the parts of a Backend. Games and Motd are required.
type Options struct {
	Config FilesConfig
	Games  *games.Catalog
	// Motd returns the message of the day of a game, the general one if the name is
	// empty.
	Motd func(game string) string
	// Mangler and QuickMatch report that games can use those services here.
	Mangler, QuickMatch bool
}

// Backend makes files. All methods may be called concurrently.
type Backend struct {
	opt    Options
	config atomic.Pointer[FilesConfig] // never nil
}

// New returns a backend.
func New(opt Options) *Backend {
	r := &Backend{opt: opt}
	r.Reload(opt.Config)
	return r
}

// Reload applies a configuration.
func (r *Backend) Reload(c FilesConfig) { r.config.Store(&c) }

// The kinds of files in metrics.
const (
	pageText    = "files.text"
	pageMotd    = "files.motd"
	pageConfig  = "files.config"
	pagePatches = "files.patches"
	pageRooms   = "files.rooms"
)

// Names returns the names of the backend's pages, for metrics.
func Names() []string { return []string{pageText, pageMotd, pageConfig, pagePatches, pageRooms} }

// Find returns the file for a path on a host. game is empty if it may be that of several
// games. ok is false if no game has such a file.
func (r *Backend) Find(host, path string) (page *soap.Page, game string, ok bool) {
	if !plain(path) {
		return nil, "", false
	}
	of, f, ok := r.opt.Games.File(host, path)
	if !ok || f.Is == games.FileBFHQ || f.Is == games.FileStella { // those are pages of package bfhq
		return nil, "", false
	}
	if len(of) == 1 {
		game = of[0]
	}
	name, text := r.make(&f, of, game, host, path)
	return &soap.Page{Name: name, Serve: func(w http.ResponseWriter, req *http.Request, _ *soap.Request) { reply(w, req, text) }}, game, true
}

// plain reports whether a path is one that games send: no file is opened, but requests that look like attacks are not answered
// either.
func plain(path string) bool {
	return len(path) <= games.MaxRequestPath && !strings.Contains(path, "..") && !strings.Contains(path, "//") &&
		!strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\\%?#:*<>|\"", r) })
}

// make returns a file and its name in metrics.
func (r *Backend) make(f *games.File, of []string, game, host, path string) (name, text string) {
	kind := f.Is
	if kind == games.FileServServ {
		switch file := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:]); {
		case strings.Contains(file, "motd") && strings.HasSuffix(file, ".txt"):
			kind = games.FileMotd
		case strings.HasSuffix(file, "config.txt"):
			return pageConfig, r.eaConfig(game, host)
		default:
			return pagePatches, "\n"
		}
	}
	switch kind {
	case games.FileMotd:
		return pageMotd, latin1(lines(r.opt.Motd(game), "\n"))
	case games.FileMotdUTF16:
		return pageMotd, utf16LE(lines(r.opt.Motd(game), "\r\n"))
	case games.FileRoomPairs:
		return pageRooms, r.roomPairs(of)
	case games.FileText, games.FileServServ, games.FileBFHQ, games.FileStella:
	}
	return pageText, f.Text
}

// eaConfig returns config.txt of a game, as asked for on a host: that name leads the
// player to this machine.
func (r *Backend) eaConfig(game, host string) string {
	c := r.config.Load()
	out := eaConfig{pingServers: c.PingServers, ladders: c.Ladders}
	for _, m := range c.Manglers {
		if at, ok := manglerAt(m); ok {
			out.manglers = append(out.manglers, at)
		}
	}
	if validHost(host) {
		if len(out.pingServers) == 0 {
			out.pingServers = []string{host}
		}
		if at, ok := manglerAt(host); ok && len(out.manglers) == 0 && r.opt.Mangler {
			out.manglers = []string{at}
		}
	}
	if g, known := r.opt.Games.Lookup(game); known && r.opt.QuickMatch {
		if _, ok := g.QuickRoom(); ok {
			out.maps, out.bot = g.QuickMatch.Maps, g.QuickMatch.Profile
		}
	}
	return out.text()
}

// roomPairs returns the group rooms of the first of several games that has any: for each the
// name in the server list and the one that players see.
func (r *Backend) roomPairs(of []string) string {
	var b strings.Builder
	b.WriteString("room_pairs =\n{\n")
	for _, name := range of {
		g, _ := r.opt.Games.Lookup(name)
		for _, room := range g.Rooms {
			quoted := luaQuote(room.Name)
			b.WriteString(quoted + ",\n" + quoted + ",\n")
		}
		if len(g.Rooms) > 0 {
			break
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// luaQuote returns a text as Lua writes it, in ASCII.
func luaQuote(s string) string {
	b := []byte{'"'}
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c < ' ' || c > '~':
			b = append(b, '?')
		default:
			b = append(b, byte(c))
		}
	}
	return string(append(b, '"'))
}

// lines returns a text whose lines all have an end. It is never empty: games write in
// front of an empty one.
func lines(text, end string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r", ""), "\n") + "\n"
	return strings.ReplaceAll(text, "\n", end)
}

// latin1 returns a text in the code page of old games, with ? for missing characters.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xFF || 0x80 <= c && c < 0xA0 {
			c = '?'
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// utf16LE returns a text in UTF-16, low byte first, without a mark in front.
func utf16LE(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// reply sends a file, which browsers must not take for a page. Games compare the length
// that HEAD gets with that of their copy.
func reply(w http.ResponseWriter, req *http.Request, body string) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", http.MethodGet+", "+http.MethodHead)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write([]byte(body)) // if it fails, the client is gone
}
