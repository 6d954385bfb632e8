package web

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// PageRows is the maximum number of servers on a page.
const PageRows = 100

// maxPage keeps page numbers within reason.
const maxPage = 1 << 20

// tableOrder is how a list is sorted. The other direction has a "-" in front of its
// name.
type tableOrder struct {
	column  tableColumn
	reverse bool
}

// tableColumn is a column by which a list can be sorted.
type tableColumn uint8

const (
	colPlayers tableColumn = iota // most first
	colName
	colGame
	colMap
	colCountry
	colAge // newest first
	columns
)

func (c tableColumn) String() string {
	return [columns]string{"players", "name", "game", "map", "country", "age"}[c]
}

func (o tableOrder) String() string {
	if o.reverse {
		return "-" + o.column.String()
	}
	return o.column.String()
}

// sortView is an order in the form of the list.
type sortView struct {
	Name, Title string
	Selected    bool
}

// sorts returns the orders to choose from. One that only a link has is among them.
func sorts(l *lang.Language, now tableOrder) []sortView {
	titles := [columns]string{l.T("most players"), l.T("name"), l.T("game"), l.T("map"), l.T("country"), l.T("newest")}
	out := make([]sortView, 0, columns+1)
	for c := range columns {
		out = append(out, sortView{c.String(), titles[c], now == tableOrder{column: c}})
	}
	if now.reverse {
		out = append(out, sortView{now.String(), l.T("%1, reversed", titles[now.column]), true})
	}
	return out
}

// parseTableOrder is the inverse of String.
func parseTableOrder(text string) (o tableOrder, ok bool) {
	text, o.reverse = strings.CutPrefix(text, "-")
	for c := range columns {
		if c.String() == text {
			o.column = c
			return o, true
		}
	}
	return tableOrder{}, false
}

// key is the sort key of a row. Empty values come last.
func (o tableOrder) key(r *api.Row) api.SortKey {
	text := func(lower string) api.SortKey {
		k := api.SortKey{Text: lower, Rank: r.Rank}
		if lower == "" {
			k.Number = 1
		}
		return k
	}
	switch o.column {
	case colName:
		return text(r.LowerName)
	case colGame:
		return text(strings.ToLower(r.Title))
	case colMap:
		return text(r.LowerMap)
	case colCountry:
		return text(strings.ToLower(r.Country))
	case colAge:
		return api.SortKey{Number: -r.First.UnixNano(), Rank: r.Rank}
	default:
		return api.SortKey{Number: -int64(r.Count), Rank: r.Rank}
	}
}

// compareTexts orders empty texts last.
func compareTexts(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	return strings.Compare(strings.ToLower(a), strings.ToLower(b))
}

// pageParams select a page of a list. Equal ones select the same page.
type pageParams struct {
	game, query string
	country     string // ISO 3166 alpha-2; empty: all
	peopled     bool   // only servers with players
	open        bool   // only servers without password
	joinable    master.JoinableSet
	order       tableOrder
	page        int // from 1
	asker       advertise.Asker
}

// parsePageParams reads the parameters of the page. Links get damaged when
// people pass them on, so unknown and invalid parameters are ignored.
func parsePageParams(query string) pageParams {
	values, _ := url.ParseQuery(query) // the valid parameters
	p := make(api.Params, len(values))
	for name := range values {
		p[name] = values.Get(name)
	}
	out := pageParams{page: 1}
	if game, err := p.Game(); err == nil {
		out.game = game
	}
	if q, err := p.Query(); err == nil {
		out.query = strings.TrimSpace(clean.Text(q))
	}
	if code := strings.ToUpper(p["country"]); isCountry(code) {
		out.country = code
	}
	if n, err := p.Number("page", 1, maxPage); err == nil {
		out.page = n
	}
	out.order, _ = parseTableOrder(p["sort"])
	out.peopled, _ = p.Flag("peopled")
	out.open, _ = p.Flag("open")
	out.joinable, _ = p.Joinable()
	return out
}

// narrow reports whether the parameters leave servers out.
func (p pageParams) narrow() bool { return p.game != "" || p.query != "" || p.sifts() }

// sifts reports whether wants is false for some rows.
func (p pageParams) sifts() bool { return p.country != "" || p.peopled || p.open || p.joinable != 0 }

// wants reports whether a row passes the switches.
func (p pageParams) wants(r *api.Row) bool {
	return (!p.peopled || r.Count > 0) && (!p.open || !r.Password) && p.joinable.Has(r.Joinable()) && (p.country == "" || r.Country == p.country)
}

// choosePage returns the rows of all pages, in order. The slice may be the
// snapshot's own.
func choosePage(list *api.Snapshot, p pageParams) []*api.Row {
	o := api.ByPlayers
	if p.game != "" && !list.Shares(p.game) {
		o = api.ByGame // of one name, most players first
	}
	rows := list.Search(p.game, p.query, o, p.asker)
	if p.sifts() {
		kept := make([]*api.Row, 0, len(rows))
		for _, r := range rows {
			if p.wants(r) {
				kept = append(kept, r)
			}
		}
		rows = kept
	}
	if p.order != (tableOrder{}) {
		rows = api.Sorted(rows, p.order.reverse, p.order.key)
	}
	return rows
}

// serveList answers /servers.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	p := parsePageParams(r.URL.RawQuery)
	p.asker = s.api.Asker(r)
	list := s.api.Snapshot()
	s.replyPage(w, r, list, p, func(l *lang.Language) []byte { return s.listPage(l, list, p) })
}

// listView is the data of the list template.
type listView struct {
	page.Frame
	Games              []gameView
	Servers            int // of the whole list
	Table              rowTable
	Found              int // servers that fit the filter
	First, Last        int // of them, those shown, from 1; 0: none
	Query              string
	Narrow             bool
	Peopled, Open      bool
	Countries          []countryView // none if no country is known
	Country            string        // name of the one that is shown; empty: all
	Sorts              []sortView
	Ways               template.HTML // options of joining
	GameTitle, GameURL string        // of the game; empty if there is no filter by game
	Previous, Next     string        // links; empty if there is nothing
}

// populationText returns the numbers of servers and players: "2 servers, 1 player".
func populationText(l *lang.Language, servers, players int) string {
	return serversText(l, servers) + ", " + playersText(l, players)
}

func serversText(l *lang.Language, n int) string { return l.N(n, "%1 server|%1 servers") }

func playersText(l *lang.Language, n int) string { return l.N(n, "%1 player|%1 players") }

// playersOf returns the number of players of all rows.
func playersOf(rows []*api.Row) (n int) {
	for _, r := range rows {
		n += r.Count
	}
	return n
}

// gameView is a game that has servers.
type gameView struct {
	Name, Title      string
	Servers, Players int
	Link             string
	Selected         bool
	Standing         string // whether it can be played online here; empty: unknown
	Focus            bool   // it is a game of this community
	Picture          string // address of its picture; empty: it has none
}

// listPage writes the page.
func (s *Server) listPage(l *lang.Language, list *api.Snapshot, p pageParams) []byte {
	rows := choosePage(list, p)
	nth := min(p.page, max((len(rows)+PageRows-1)/PageRows, 1))
	from := (nth - 1) * PageRows
	to := min(from+PageRows, len(rows))

	v := listView{
		Frame: s.site.LiveFrame(l, l.T("Servers"), page.Servers, p.game), Games: s.gameViews(list, p),
		Servers: len(list.Rows), Found: len(rows), Query: p.query, Narrow: p.narrow(),
		Peopled: p.peopled, Open: p.open, Countries: countryViews(l, list, p.country), Sorts: sorts(l, p.order), Ways: ways(l, p.joinable, s.opt.Nouns.Has(noun.Meetings), s.opt.Nouns.Has(noun.Relays)),
	}
	if p.country != "" {
		v.Country = countryName(l, p.country)
	}
	v.Preview = s.site.Preview(s.listURL(p, nth), populationText(l, len(rows), playersOf(rows))+".")
	if p.game != "" {
		v.GameTitle = clean.Line(s.api.Title(p.game), maxGameText)
		v.GameURL = s.gameURL(p.game)
		v.Title = l.T("%1 servers", v.GameTitle)
	}
	if to > from {
		v.First, v.Last = from+1, to
	}
	if nth > 1 {
		v.Previous = s.listURL(p, nth-1)
	}
	if to < len(rows) {
		v.Next = s.listURL(p, nth+1)
	}
	v.Table = s.table(l, rows[from:to], list.Begun, p.asker, p.game == "", strings.ToLower(p.query), func(title string, c tableColumn, class string) columnView {
		return s.sortedBy(p, title, c, class)
	})
	v.Table.Caption = l.T("Servers %1 to %2 of %3", v.First, v.Last, v.Found)
	return templates.Render("list", v)
}

// sortedBy makes the head of a column of the list: a link that sorts by it, and
// once it does, the other way round.
func (s *Server) sortedBy(p pageParams, title string, c tableColumn, class string) columnView {
	v := columnView{Title: title, Class: class}
	next := p
	next.order = tableOrder{column: c}
	if p.order.column == c {
		v.Sorted = "ascending"
		if falling := c == colPlayers; falling != p.order.reverse {
			v.Sorted = "descending"
		}
		next.order.reverse = !p.order.reverse
	}
	v.Link = s.listURL(next, 1)
	return v
}

// gameViews returns the games that have servers, most players first.
func (s *Server) gameViews(list *api.Snapshot, p pageParams) []gameView {
	listed := slices.Clone(list.Games)
	slices.SortStableFunc(listed, func(a, b api.ListedGame) int {
		return cmp.Or(b.Players-a.Players, b.Servers()-a.Servers())
	})
	out := make([]gameView, 0, len(listed))
	for _, g := range listed {
		out = append(out, gameView{
			Name: g.Name, Title: clean.Line(g.Title, maxGameText), Servers: g.Servers(), Players: g.Players,
			Link: s.gameURL(g.Name), Selected: g.Name == p.game, Picture: s.pictureURL(g.Name),
		})
	}
	return out
}

// listURL returns the address of a page of the list.
func (s *Server) listURL(to pageParams, page int) string {
	v := url.Values{}
	set := func(name, value string, on bool) {
		if on {
			v.Set(name, value)
		}
	}
	set("game", to.game, to.game != "")
	set("q", to.query, to.query != "")
	set("country", to.country, to.country != "")
	set("peopled", "1", to.peopled)
	set("open", "1", to.open)
	set("joinable", strings.Join(to.joinable.Names(), ","), to.joinable != 0)
	set("sort", to.order.String(), to.order != (tableOrder{}))
	set("page", strconv.Itoa(page), page > 1)
	if len(v) == 0 {
		return s.site.Base() + "/servers"
	}
	return s.site.Base() + "/servers?" + v.Encode()
}

// serverURL returns the address of the page of a server.
func (s *Server) serverURL(of *master.Server) string {
	return s.site.Base() + "/servers/" + url.PathEscape(of.ID())
}

// gameURL returns the address of the page of a game.
func (s *Server) gameURL(name string) string { return s.site.Base() + "/games/" + url.PathEscape(name) }
