package web

import (
	"net/http"
	"slices"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/page"
)

// connectView is the data of the template of the page about connecting.
type connectView struct {
	page.Frame
	Address  string // that games should use; empty if unknown
	Running  running
	Services []Service
	Choices  []choiceView // of games that look up names; none if nothing answers to those, or there are too many
	Together together     // several games that the visitor named
	SiteURL  string       // of this site, for others; empty if unknown
	You      *youView
	NATNeg   bool // players behind routers are brought together
}

// choiceView is a game to be chosen.
type choiceView struct{ Name, Title string }

// serveConnect answers /connect.
func (s *Server) serveConnect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store") // it is about the visitor
	l := s.site.Language(w, r)
	v := connectView{Frame: s.site.CopyFrame(l, l.T("How to connect"), page.Connect), Services: s.services(), SiteURL: s.siteURL(r), NATNeg: s.opt.Nouns.Has(noun.Meetings)}
	v.Preview = s.site.Preview(s.site.Base()+"/connect", l.T("How games and game servers find this site."))
	if a := s.gameAddress(r); a.IsValid() {
		v.Address = a.String()
	}
	v.You = s.you(l, r)
	if v.You.Asked {
		w.Header().Set("Refresh", checkTime+"; url="+s.site.Base()+"/connect#you")
	}
	v.Running = s.running(l, v.Address)
	if v.Running.GameSpy {
		v.Choices = s.choices()
		v.Together = s.together(r, r.URL.Query().Get("several"))
	}
	s.show(w, r, "connect", v)
}

// mostChoices is the maximum number of games in the form of the first page.
// With more games visitors search for theirs.
const mostChoices = 300

// choices returns the games of this community by title, or all if there are not
// too many.
func (s *Server) choices() []choiceView {
	all := s.api.Games(s.api.Snapshot())
	if len(s.opt.Focus) > 0 {
		all = slices.DeleteFunc(all, func(g games.Game) bool { return !s.focused(g.Name) })
	}
	if len(all) > mostChoices {
		return nil
	}
	out := make([]choiceView, 0, len(all))
	for _, g := range all {
		out = append(out, choiceView{g.Name, clean.Line(s.api.Title(g.Name), maxGameText)})
	}
	slices.SortFunc(out, func(a, b choiceView) int { return compareTexts(a.Title, b.Title) })
	return out
}

// chooseGame answers /games?name=, the form of the first page: it continues to
// the page of that game, or to a search if it is not the name of one.
func (s *Server) chooseGame(w http.ResponseWriter, r *http.Request, name string) {
	to := s.gamesURL(&gamesView{Query: name}, 1)
	found, ok := games.Find(s.api.Games(s.api.Snapshot()), name)
	switch {
	case ok && found.Exact && len(found.Others) == 0:
		to = s.gameURL(found.Game.Name)
	case !ok && len(found.Others) == 0:
		s.Fail(w, r, http.StatusNotFound, "there is no game of that name here")
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
