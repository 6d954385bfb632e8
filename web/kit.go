package web

import (
	"mime"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/kit"
	"github.com/respawnd/respawnd/web/front"
)

// kitLinks are the links to what leads a game to this site. Those of scripts are empty for
// visitors who get none.
type kitLinks struct{ Kit, Lines, Batch, Shell string }

func (s *Server) kitLinks(q gamePageQuestion) (l kitLinks) {
	link := func(file string) string {
		if q.given {
			file += "?ip=" + q.address.String()
		}
		return s.gameURL(q.name) + "/" + file
	}
	if l.Kit, l.Lines = link("kit.zip"), link("hosts.txt"); q.near {
		l.Batch, l.Shell = link("hosts.bat"), link("hosts.sh")
	}
	return l
}

// serveKit returns the handler of /games/{name}/kit.zip, hosts.txt, hosts.bat or hosts.sh. Scripts
// are for visitors of private networks: a page that anyone on the way can change must not offer
// programs that run with all rights.
func (s *Server) serveKit(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g, known := s.api.Game(r.PathValue("name"))
		a, ok := s.hostsAddress(r, strings.TrimSpace(r.URL.Query().Get("ip")))
		near := front.IsNear(s.Visitor(r))
		switch {
		case !known:
			s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
			return
		case !near && (kind == "bat" || kind == "sh"):
			s.Fail(w, r, http.StatusForbidden, "scripts are for visitors from private networks; use the lines for the hosts file")
			return
		case !ok || !a.IsValid():
			s.Drop(front.DropParam)
			s.Fail(w, r, http.StatusBadRequest, "ip must be an IPv4 address of a host, such as 192.168.1.5")
			return
		}
		k := kit.Kit{Game: g, Address: a, Domains: s.opt.Domains, Leads: s.redirected, Known: s.api.Outlooks(g), Scripts: near, Lang: s.site.Language(w, r)}
		f, mediaType, err := fileOf(&k, kind)
		if err != nil {
			s.Log().Warn().Err(err).Str("game", g.Name).Str("file", kind).Msg("no file for players of a game")
			s.Fail(w, r, http.StatusNotFound, "there is no such file for this game")
			return
		}
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
		s.Send(w, r, mediaType, front.NewAnswer(f.Text))
	}
}

// fileOf returns a file of a kit, or all of them as an archive, with its type.
func fileOf(k *kit.Kit, kind string) (f kit.File, mediaType string, err error) {
	switch kind {
	case "zip":
		f.Name = "respawnd-" + k.Game.Name + ".zip"
		f.Text, err = k.Zip()
		return f, "application/zip", err
	case "txt":
		f, err = k.HostsFile()
		return f, front.Text, err
	default:
		f, err = k.Script(kind)
		return f, "application/octet-stream", err
	}
}

// redirected reports whether players should redirect a name: only if a service
// answers there, because their games would wait otherwise.
func (s *Server) redirected(n games.HostName) bool { return n.Served(s.opt.Served) }
