package web

import (
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// playersView is the data of the template of the players online.
type playersView struct {
	page.Frame
	Query          string
	Players        []onlineView
	Found          int // players that match
	First, Last    int // of them, those shown, from 1; 0: none
	Counted        int // players in all, those without a name too
	Previous, Next string
}

// onlineView is a player on a server.
type onlineView struct {
	Name, Score, Server, Game, Map string
	Painted, PaintedServer         template.HTML // the names in their colours
	Link, GameURL                  string
}

// playersQuestion is the question for a page of players.
type playersQuestion struct {
	query string
	page  int
	asker advertise.Asker // of the addresses of servers without a name
}

// servePlayers answers /players.
func (s *Server) servePlayers(w http.ResponseWriter, r *http.Request) {
	p := parsePageParams(r.URL.RawQuery)
	list := s.api.Snapshot()
	q := playersQuestion{p.query, p.page, s.api.Asker(r)}
	s.replyPage(w, r, list, q, func(l *lang.Language) []byte { return s.playersPage(l, list, q) })
}

// playersPage writes the page: players of the servers with most players first.
func (s *Server) playersPage(l *lang.Language, list *api.Snapshot, q playersQuestion) []byte {
	v := playersView{Frame: s.site.LiveFrame(l, l.T("Players online"), page.Players, ""), Query: q.query, Counted: list.Players}
	found := playersOnline(list, strings.ToLower(q.query))
	v.Found = found.count
	last := max((v.Found+PageRows-1)/PageRows, 1)
	nth := min(q.page, last)
	from := (nth - 1) * PageRows
	for _, at := range found.page(from, PageRows) {
		v.Players = append(v.Players, s.onlineView(at, q.asker))
	}
	if len(v.Players) > 0 {
		v.First, v.Last = from+1, from+len(v.Players)
	}
	if nth > 1 {
		v.Previous = s.playersURL(q.query, nth-1)
	}
	if nth < last {
		v.Next = s.playersURL(q.query, nth+1)
	}
	v.Preview = s.site.Preview(s.playersURL(q.query, nth), l.T("Players online: %1.", v.Counted))
	return templates.Render("players", v)
}

// online are the players of a list that match a text.
type online struct {
	rows   []*api.Row // that have some of them
	counts []int      // of each row
	lower  string     // the text; empty: all players match
	count  int
}

// playersOnline finds the players whose name has a text in lower case.
func playersOnline(list *api.Snapshot, lower string) online {
	found := online{lower: lower}
	for _, r := range list.Choose("", "", api.ByPlayers) {
		n := 0
		if lower == "" {
			n = r.PlayerCount()
		} else {
			for range r.PlayersFound(lower) {
				n++
			}
		}
		if n > 0 {
			found.rows, found.counts, found.count = append(found.rows, r), append(found.counts, n), found.count+n
		}
	}
	return found
}

// seat is a player of a server.
type seat struct {
	row *api.Row
	i   int
}

// page returns the players from a position on, at most the given number of them.
func (o online) page(from, most int) (out []seat) {
	for k, r := range o.rows {
		if from >= o.counts[k] {
			from -= o.counts[k]
			continue
		}
		for i := range r.PlayersFound(o.lower) {
			if from > 0 {
				from--
				continue
			}
			if out = append(out, seat{r, i}); len(out) == most {
				return out
			}
		}
	}
	return out
}

func (s *Server) onlineView(at seat, asker advertise.Asker) onlineView {
	r := at.row
	v := onlineView{
		Painted: painted(r.PlayerParts(at.i, maxNameText)), PaintedServer: painted(r.NameParts(maxNameText)),
		Name: clean.Line(r.PlayerName(at.i), maxNameText), Score: clean.Line(r.PlayerScore(at.i), maxScoreText),
		Server: clean.Line(r.Name, maxNameText), Game: clean.Line(r.Title, maxGameText), Map: clean.Line(r.Map, maxAreaText),
		Link: s.serverURL(r.Server), GameURL: s.gameURL(r.Game),
	}
	if v.Server == "" {
		v.Server = asker.Given(r.Public).String()
	}
	return v
}

// maxScoreText is the maximum number of characters of a score.
const maxScoreText = 12

// playersURL returns the address of a page of players.
func (s *Server) playersURL(query string, number int) string {
	q := url.Values{}
	if query != "" {
		q.Set("q", query)
	}
	if number > 1 {
		q.Set("page", strconv.Itoa(number))
	}
	if len(q) == 0 {
		return s.site.Base() + "/players"
	}
	return s.site.Base() + "/players?" + q.Encode()
}
