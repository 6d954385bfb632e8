package web

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
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

// mostTogether is the maximum number of games in one script.
const mostTogether = 32

// maxTogether is the length of the text that names them, in bytes.
const maxTogether = 1024

// wantedGames returns the games of a request for their files: that of its path, or those that its
// query names. known is false if there are none, or one is not known.
func (s *Server) wantedGames(r *http.Request) (list []games.Game, known bool) {
	names := r.URL.Query()["game"]
	if name := r.PathValue("name"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		g, ok := s.api.Game(name)
		if !ok {
			return nil, false
		}
		list = append(list, g)
	}
	return list, len(list) > 0 && len(list) <= mostTogether
}

// serveKit returns the handler of /games/{name}/kit.zip, hosts.txt, hosts.bat or hosts.sh, and of
// the latter three for several games. Scripts are for visitors of private networks: a page that
// anyone on the way can change must not offer programs that run with all rights.
func (s *Server) serveKit(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list, known := s.wantedGames(r)
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
		var kits []*kit.Kit
		for _, g := range list {
			page := s.siteURL(r)
			if page != "" {
				page += "games/" + url.PathEscape(g.Name)
			}
			kits = append(kits, &kit.Kit{
				Page: page,
				Game: g, Address: a, Domains: s.opt.Domains, Leads: s.redirected, Known: s.api.Outlooks(g), Scripts: near, Lang: s.site.Language(w, r),
			})
		}
		f, mediaType, err := fileOf(kits, kind)
		if err != nil {
			s.Log().Warn().Err(err).Str("game", list[0].Name).Str("file", kind).Msg("no file for players of a game")
			s.Fail(w, r, http.StatusNotFound, "there is no such file for this game")
			return
		}
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
		s.Send(w, r, mediaType, front.NewAnswer(f.Text))
	}
}

// fileOf returns a file of kits, or all of the first one as an archive, with its type.
func fileOf(kits []*kit.Kit, kind string) (f kit.File, mediaType string, err error) {
	if kind == "zip" {
		f.Name = "respawnd-" + kits[0].Game.Name + ".zip"
		f.Text, err = kits[0].Zip()
		return f, "application/zip", err
	}
	mediaType = "application/octet-stream"
	if kind == "txt" {
		mediaType = front.Text
	}
	f, err = kit.Hosts(kind, kits...)
	return f, mediaType, err
}

// together is the answer to a visitor who named several games.
type together struct {
	Asked string // what the visitor wrote
	Games []wordsView
	More  int      // that were named and not looked for
	Links kitLinks // none if no game was found
}

// wordsView is what a visitor wrote for a game, with the game; its Link is empty if there is none.
type wordsView struct {
	Words string
	nameView
}

// together finds the games that are named in a text, with commas between them.
func (s *Server) together(r *http.Request, text string) (t together) {
	if t.Asked = clean.Line(text, maxTogether); t.Asked == "" {
		return t
	}
	finder, names := games.NewFinder(s.api.Games(s.api.Snapshot())), url.Values{}
	for words := range strings.SplitSeq(t.Asked, ",") {
		words = strings.TrimSpace(words)
		switch {
		case words == "":
			continue
		case len(t.Games) == mostTogether:
			t.More++
			continue
		}
		v := wordsView{Words: words}
		if found, ok := finder.Find(words); ok {
			name := found.Game.Name
			v.nameView = nameView{name, clean.Line(s.api.Title(name), maxGameText), s.gameURL(name)}
			if !slices.Contains(names["game"], name) {
				names.Add("game", name)
			}
		}
		t.Games = append(t.Games, v)
	}
	if link := s.site.Base() + "/games/hosts."; len(names) > 0 {
		t.Links.Lines = link + "txt?" + names.Encode()
		if front.IsNear(s.Visitor(r)) {
			t.Links.Batch, t.Links.Shell = link+"bat?"+names.Encode(), link+"sh?"+names.Encode()
		}
	}
	return t
}

// redirected reports whether players should redirect a name: only if a service
// answers there, because their games would wait otherwise.
func (s *Server) redirected(n games.HostName) bool { return n.Served(s.opt.Served) }
