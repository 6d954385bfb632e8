package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/front"
)

// The lists of Xash3D FWGS at fixed paths: its engine asks for /v1/servers/GAMEDIR below the
// addresses that players give it, and connects in the protocol that a line states. A list
// without servers is 200 with a comment, as the engine calls an empty answer and a 404 no data.
const (
	maxXash    = 5000 // servers of a list
	maxGameDir = 64   // bytes of the name of a folder

	// How long a list may be kept.
	xashAge = "public, max-age=30"
)

// xashWord returns the word of Xash3D for the protocol of a server, "" for one that its
// engine does not speak.
func xashWord(srv *master.Server) string {
	if srv.QueryProtocol() != "a2s" {
		return ""
	}
	switch protocol, _ := srv.Rules.Get(master.RuleProtocol); protocol {
	case "47", "48":
		return "gs" // GoldSource
	case "49":
		return "ip"
	default:
		return ""
	}
}

// gameDir returns the folder of the game of a server in A2S.
func gameDir(srv *master.Server) string {
	dir, _ := srv.Rules.Get("gamename")
	return ascii.ToLower(dir)
}

// xashList identifies a list for its tag.
type xashList struct {
	dir   string
	near  bool // the visitor is in a private network, and so may servers be
	asker advertise.Asker
}

// xash answers requests of Xash3D.
type xash struct{ *API }

// serve answers /v1/servers/{gamedir}, and /v1/gamedirs with an empty folder.
func (s xash) serve(w http.ResponseWriter, r *http.Request, _ Params) error {
	q := xashList{ascii.ToLower(r.PathValue("gamedir")), front.IsNear(s.Visitor(r)), s.Asker(r)}
	if len(q.dir) > maxGameDir || strings.ContainsFunc(q.dir, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return notFound("not the name of a folder")
	}
	w.Header().Set("Cache-Control", xashAge)
	list := s.lister.now()
	if front.NotModified(w, r, s.lister.etag(list.serial, list.titles, q)) {
		return nil
	}
	s.Reply(w, r, textType, &list.Answers, q, func() []byte {
		if q.dir == "" {
			return encodeGameDirs(list, q)
		}
		return encodeXash(list, q)
	})
	return nil
}

// each calls yield with every server that a visitor may see, with its address for it.
func (q *xashList) each(list *Snapshot, yield func(word string, row *Row, address string)) {
	for _, row := range list.Rows {
		word := xashWord(row.Server)
		if word == "" || q.dir != "" && gameDir(row.Server) != q.dir {
			continue
		}
		if a := q.asker.Given(row.Public); q.near || !master.IsPrivate(a.Addr()) {
			yield(word, row, a.String())
		}
	}
}

// encodeXash writes the list of a folder, most players first.
func encodeXash(list *Snapshot, q xashList) []byte {
	type line struct {
		players int
		text    string
	}
	var lines []line
	q.each(list, func(word string, row *Row, address string) {
		lines = append(lines, line{row.Count, word + " " + address + "\n"})
	})
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.players, a.players) })
	b := fmt.Appendf(nil, "# %s server list\n# Format: <ip|gs> <address>\n\n", q.dir)
	for _, l := range lines[:min(len(lines), maxXash)] {
		b = append(b, l.text...)
	}
	return b
}

// encodeGameDirs writes the folders that have servers, with their number: in all, and of those
// that answer, which are all.
func encodeGameDirs(list *Snapshot, q xashList) []byte {
	count := make(map[string]int)
	q.each(list, func(_ string, row *Row, _ string) { count[gameDir(row.Server)]++ })
	var lines []string
	for dir, n := range count {
		if dir != "" && !strings.ContainsFunc(dir, func(c rune) bool { return c <= ' ' || c > '~' }) {
			lines = append(lines, fmt.Sprintf("%s %d %d\n", dir, n, n))
		}
	}
	slices.Sort(lines)
	return append([]byte("# Format: <gamedir> <servers> <live>\n"), strings.Join(lines, "")...)
}
