package web

import (
	"net/http"
	"slices"
	"strings"
)

// homeRows is how many servers the first page shows.
const homeRows = 25

// Service is one that the daemon runs, as the first page shows it.
type Service struct {
	Name string // as the configuration spells it
	What string // what it is for, in a few words
	Port string // "UDP 27900"
}

// homeView is what the template of the first page shows.
type homeView struct {
	frame
	Servers, Players int
	Games            []gameView
	Table            rowTable
	Services         []Service
	Address          string // that games should use; empty if unknown
	DNS              bool   // it answers DNS itself
	Choices          []choiceView
}

// choiceView is a game to be chosen.
type choiceView struct{ Name, Title string }

// serveHome answers /. Links to the list from the time when it was here go on to
// where it is now.
func (s *Server) serveHome(w http.ResponseWriter, r *http.Request) {
	if p := parsePageParams(r.URL.RawQuery); p != (pageParams{page: 1}) {
		http.Redirect(w, r, s.pages.listURL(p, p.page), http.StatusSeeOther)
		return
	}
	list := s.lister.now()
	rows := list.choosePage(pageParams{})
	v := homeView{
		frame:   s.pages.liveFrame("Game servers", placeHome),
		Servers: len(list.rows), Players: list.players, Games: s.gameViews(list, pageParams{}),
		Table: s.table(rows[:min(len(rows), homeRows)], list.begun, true, unsorted), Choices: s.choices(),
	}
	if s.opt.Services != nil {
		v.Services = s.opt.Services()
	}
	v.DNS = slices.ContainsFunc(v.Services, func(svc Service) bool { return svc.Name == "dns" })
	if a := s.gameAddress(r); a.IsValid() {
		v.Address = a.String()
	}
	s.sendPage(w, r, "home", v)
}

// choices returns all games by title.
func (s *Server) choices() []choiceView {
	all := s.lister.catalog.All()
	out := make([]choiceView, 0, len(all))
	for _, g := range all {
		out = append(out, choiceView{g.Name, displayText(s.lister.title(g.Name), maxGameText)})
	}
	slices.SortFunc(out, func(a, b choiceView) int { return compareTexts(a.Title, b.Title) })
	return out
}

// chooseGame answers /games?name=, the form of the first page: it goes on to
// the page of that game.
func (s *Server) chooseGame(w http.ResponseWriter, r *http.Request, name string) {
	g, ok := s.lister.catalog.Lookup(strings.ToLower(name))
	if !ok {
		s.fail(w, r, http.StatusNotFound, "no game of that name is known here")
		return
	}
	http.Redirect(w, r, s.pages.gameURL(g.Name), http.StatusSeeOther)
}
