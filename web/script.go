package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"strings"
	"text/template"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/web/front"
)

// The scripts that add the lines of a game to the hosts file, for players of a LAN
// party. Each line has a comment that names the game, with which a second run and an
// undo find it.
var (
	//go:embed scripts/hosts.sh
	shellScript string
	//go:embed scripts/hosts.bat
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
	URL     string // path of the page of the game
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

// write writes a script of a kind.
func (s script) write(kind string) []byte {
	var b bytes.Buffer
	if err := scripts[kind].Execute(&b, s); err != nil {
		panic(err) // the templates fit
	}
	if kind == "bat" {
		return bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n"))
	}
	return b.Bytes()
}

// serveScript returns the handler of /games/{name}/hosts.{kind}. Scripts are for
// visitors of private networks: a page that anyone on the way can change must not
// offer programs that run with all rights.
func (s *Server) serveScript(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g, known := s.api.Game(r.PathValue("name"))
		a, ok := s.hostsAddress(r, strings.TrimSpace(r.URL.Query().Get("ip")))
		switch {
		case !known:
			s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
			return
		case !front.IsNear(s.Visitor(r)):
			s.Fail(w, r, http.StatusForbidden, "scripts are for visitors from private networks; use the lines for the hosts file")
			return
		case !ok || !a.IsValid():
			s.Drop(front.DropParam)
			s.Fail(w, r, http.StatusBadRequest, "ip must be an IPv4 address of a host, such as 192.168.1.5")
			return
		}
		data, err := newScript(g.Name, a, s.redirectedNames(g))
		if err != nil {
			s.Log().Warn().Err(err).Str("game", g.Name).Msg("no script for the hosts file")
			s.Fail(w, r, http.StatusNotFound, "there is no script for this game")
			return
		}
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "hosts-" + g.Name + "." + kind}))
		s.Send(w, r, "application/octet-stream", front.NewAnswer(data.write(kind)))
	}
}

// redirectedNames returns the names in the hosts file of a game.
func (s *Server) redirectedNames(g games.Game) (out []string) {
	for _, h := range s.api.Hosts(g) {
		if h.Served {
			out = append(out, h.Name)
		}
	}
	return out
}
