package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// PageRows is how many servers a page has at most.
const PageRows = 500

// Longest texts in a page, in characters.
const (
	maxNameText = 80
	maxAreaText = 40
	maxGameText = 60
)

//go:embed templates assets/style.css
var files embed.FS

// pages are the templates and what they all show.
type pages struct {
	base, version string
	list, message *template.Template
	style         *answer
	styleTag      string
	styleURL      string
}

// newPages reads the embedded files. A mistake in them is found by any test.
func newPages(base, version string) *pages {
	css, err := files.ReadFile("assets/style.css")
	if err != nil {
		panic(err)
	}
	parse := func(name string) *template.Template {
		return template.Must(template.ParseFS(files, "templates/frame.html", "templates/"+name))
	}
	p := &pages{
		base: base, version: version,
		list: parse("list.html"), message: parse("message.html"),
		style: &answer{body: css}, styleTag: contentTag(css),
	}
	p.styleURL = base + stylePath + "?v=" + strings.Trim(p.styleTag, `"`)
	return p
}

// frame is what all pages show around their content.
type frame struct {
	Base, Style, Version, Title string
}

func (p *pages) frame(title string) frame {
	return frame{Base: p.base, Style: p.styleURL, Version: p.version, Title: title}
}

// render runs a template, which fails only if it does not fit its data.
func render(t *template.Template, data any) []byte {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "frame.html", data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// failure returns the page of an error.
func (p *pages) failure(status int, text string) []byte {
	return render(p.message, struct {
		frame
		Status int
		Text   string
	}{p.frame(http.StatusText(status)), status, text})
}

// pageParams say which page of which list. Equal ones ask for the same page.
type pageParams struct {
	game, query string
	page        int // from 1
}

// parsePageParams reads the parameters of the page. People's links get changed on
// their way, so what is unknown or wrong is as if it were not there.
func parsePageParams(query string) pageParams {
	values, _ := url.ParseQuery(query) // what can be read
	p := make(params, len(values))
	for name := range values {
		p[name] = values.Get(name)
	}
	out := pageParams{page: 1}
	if game, err := p.game(); err == nil {
		out.game = game
	}
	if q, err := p.query(); err == nil {
		out.query = strings.TrimSpace(clean.Text(q))
	}
	if n, err := p.number("page", 1, maxPage); err == nil {
		out.page = n
	}
	return out
}

// servePage answers /.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	p := parsePageParams(r.URL.RawQuery)
	list := s.lister.now()
	s.reply(w, r, htmlType, list, p, func() []byte { return s.listPage(list, p) })
}

// listView is what the template of the list shows.
type listView struct {
	frame
	Games          []gameView
	Servers        int // of the whole list
	Players        int
	Rows           []rowView
	Found          int // servers that fit the filter
	First, Last    int // of them, those shown, from 1; 0: none
	Game, Query    string
	GameTitle      string // of Game; empty if there is no filter by game
	Previous, Next string // links; empty if there is nothing
}

// gameView is a game that has servers.
type gameView struct {
	Name, Title      string
	Servers, Players int
	Link             string
	Selected         bool
}

// rowView is a line of the list.
type rowView struct {
	Name, Game, Map, Country, Address string
	Players, MaxPlayers               int
	Password, Reachable               bool
	Age                               string
}

// listPage writes the page.
func (s *Server) listPage(list *snapshot, p pageParams) []byte {
	rows := list.choose(p.game, p.query, byPlayers)
	page := min(p.page, max((len(rows)+PageRows-1)/PageRows, 1))
	from := (page - 1) * PageRows
	to := min(from+PageRows, len(rows))

	v := listView{
		frame: s.pages.frame("Game servers"), Games: s.gameViews(list, p),
		Servers: len(list.rows), Players: list.players,
		Found: len(rows), Game: p.game, Query: p.query,
	}
	if p.game != "" {
		v.GameTitle = clean.Line(s.lister.title(p.game), maxGameText)
		v.Title = v.GameTitle + " servers"
	}
	if to > from {
		v.First, v.Last = from+1, to
	}
	if page > 1 {
		v.Previous = s.pages.link(pageParams{p.game, p.query, page - 1})
	}
	if to < len(rows) {
		v.Next = s.pages.link(pageParams{p.game, p.query, page + 1})
	}
	for _, r := range rows[from:to] {
		v.Rows = append(v.Rows, viewRow(r, list.begun))
	}
	return render(s.pages.list, v)
}

// gameViews returns the games that have servers, most players first.
func (s *Server) gameViews(list *snapshot, p pageParams) []gameView {
	listed := slices.Clone(list.games)
	slices.SortStableFunc(listed, func(a, b listedGame) int {
		if a.players != b.players {
			return b.players - a.players
		}
		return b.servers() - a.servers()
	})
	out := make([]gameView, 0, len(listed))
	for _, g := range listed {
		out = append(out, gameView{
			Name: g.name, Title: clean.Line(g.title, maxGameText), Servers: g.servers(), Players: g.players,
			Link: s.pages.link(pageParams{game: g.name, page: 1}), Selected: g.name == p.game,
		})
	}
	return out
}

func viewRow(r *row, now time.Time) rowView {
	return rowView{
		Name: clean.Line(r.name, maxNameText), Game: clean.Line(r.title, maxGameText), Map: clean.Line(r.area, maxAreaText),
		Country: clean.Line(r.Country, maxAreaText), Address: r.Public.String(),
		Players: r.players, MaxPlayers: r.maxPlayers,
		Password: r.password(), Reachable: r.Findings.Reachable,
		Age: ageText(now.Sub(r.First)),
	}
}

// link returns the address of a page of the list.
func (p *pages) link(to pageParams) string {
	v := url.Values{}
	if to.game != "" {
		v.Set("game", to.game)
	}
	if to.query != "" {
		v.Set("q", to.query)
	}
	if to.page > 1 {
		v.Set("page", strconv.Itoa(to.page))
	}
	if len(v) == 0 {
		return p.base + "/"
	}
	return p.base + "/?" + v.Encode()
}

// ageText returns a duration in its largest whole unit.
func ageText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 2*day:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/day)) + " days"
}
