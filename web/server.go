package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// liveWait is how long a page waits for an answer of its server.
const liveWait = 1200 * time.Millisecond

// Bounds of the page of a server.
const (
	maxTableRows    = 256
	maxTableColumns = 12
	maxRuleRows     = 512
)

// Prober queries the present status of listed servers. Its answers may be some
// seconds old.
type Prober interface {
	Status(ctx context.Context, public netip.AddrPort) (query.Status, error)
}

// serverPage is the data of a server's template.
type serverPage struct {
	page.Frame
	rowView
	Count     int // players
	GamePort  string
	Type      string
	Origin    string
	Source    string // where this list knows it from
	Last      string
	Live      bool // the tables below are from a query now
	Asked     bool // it was asked
	Rules     []ruleView
	MoreRules int // that are not shown
	Players   tableView
	Teams     tableView
	JSON      string
	Connect   string // address to which players connect
	Code      string // link to its QR code
	Badge     string // address of its badge
	JoinURL   template.URL
	Charts    []template.HTML
	Week      weekView
	Painted   template.HTML // its name in colours, or its address
}

// ruleView is a rule of a server.
type ruleView struct{ Name, Value string }

// tableView is a table of players or teams.
type tableView struct {
	Name    string
	Columns []string
	Rows    [][]template.HTML // in their colours
	More    int               // rows that are not shown
}

// longTable is the number of rows from which charts stand above a table, so that they are found.
const longTable = 12

// IsLong reports whether the table is so long that what follows would not be seen.
func (t tableView) IsLong() bool { return len(t.Rows) >= longTable }

// serveServer answers /servers/{id}.
func (s *Server) serveServer(w http.ResponseWriter, r *http.Request) {
	asker := s.api.Asker(r)
	found, list, ok := s.api.Find(r.PathValue("id"), asker)
	if !ok {
		s.Fail(w, r, http.StatusNotFound, "this server is not in the list; it may have been stopped")
		return
	}
	l := s.site.Language(w, r)
	v := serverPage{
		Frame: s.site.LiveFrame(l, "", page.Servers, found.Game), rowView: s.rowView(l, found, list.Begun, asker),
		Type: clean.Line(found.Type, maxAreaText), Origin: originText(l, found.Server), Source: sourceText(l, found.Server),
		Last: agoText(l, time.Since(found.Last)), JSON: s.site.Base() + "/api/v1/servers/" + found.ID(),
		Charts: s.serverCharts(l, found), Week: s.week(l, found),
	}
	v.Count = found.Count
	v.Connect, v.Code = gameAddressOf(found.GamePort, asker.Given(found.Public)), v.Link+"/qr.svg"
	v.Badge = s.site.Origin() + v.Link + "/badge.svg"
	v.JoinURL = template.URL(v.Join) //nolint:gosec // the catalogue checks its form
	if v.Title = v.Name; v.Title == "" {
		v.Title = v.Address
	}
	if port := found.GamePort; port != 0 && port != found.Public.Port() {
		v.GamePort = strconv.Itoa(int(port))
	}
	var st query.Status
	if st, v.Asked = s.ask(r, found); !st.Empty() {
		v.Live = true
		v.showStatus(&st, found.Colours)
	} else {
		v.showReport(found)
	}
	if v.Painted == "" {
		v.Painted = painted(found.NameParts(maxNameText))
	}
	if v.Painted == "" {
		v.Painted = painted([]colour.Part{{Text: v.Title}})
	}
	v.Preview = s.site.Preview(v.Link, v.summary()).With(s.pictureURL(found.Game))
	s.show(w, r, "server", v)
}

// summary describes the server in a sentence.
func (v *serverPage) summary() string {
	text := v.Game + ": "
	if v.MaxPlayers > 0 {
		text += v.Lang.N(v.Count, "%1 player of %2|%1 players of %2", v.MaxPlayers)
	} else {
		text += playersText(v.Lang, v.Count)
	}
	if v.Map != "" {
		text = v.Lang.T("%1 on %2", text, v.Map)
	}
	return text + ", " + v.Connect + "."
}

// ask queries a server, unless the request is HEAD. asked reports whether the server could be asked:
// without an answer the status is empty.
func (s *Server) ask(r *http.Request, found *api.Row) (st query.Status, asked bool) {
	if s.opt.Prober == nil || r.Method != http.MethodGet {
		return query.Status{}, false
	}
	ctx, cancel := context.WithTimeout(r.Context(), liveWait)
	defer cancel()
	st, err := s.opt.Prober.Status(ctx, found.Public)
	if err != nil {
		s.Log().Debug().Err(err).Stringer("server", found.Public).Msg("no live details")
		return query.Status{}, !errors.Is(err, query.ErrUnknownProtocol)
	}
	return st, true
}

// originText describes how a server came into the list.
func originText(l *lang.Language, s *master.Server) string {
	switch {
	case s.Origin != master.Federated:
		return l.T(s.Origin.Story)
	case s.Vouched:
		return l.T("It is listed on the word of another master, %1, and was not queried from here.", clean.Line(s.Told, maxNameText))
	}
	return l.T("It is known from another master, %1, and answered queries from here.", clean.Line(s.Told, maxNameText))
}

// sourceText returns where this list knows a server from, in short.
func sourceText(l *lang.Language, s *master.Server) string {
	if s.Origin == master.Federated {
		return l.T("known from %1", clean.Line(s.Told, maxNameText))
	}
	return l.T(cmp.Or(s.Origin.Source, lang.Key("reported here")))
}

// showReport fills the tables from the server's last report.
func (v *serverPage) showReport(s *api.Row) {
	for name, value := range s.Rules.All() {
		v.addRule(name, value)
	}
	v.showTables(reportGrid(s.Players), reportGrid(s.Teams), s.Colours)
}

// showStatus fills the tables, and the numbers above them, from a query.
func (v *serverPage) showStatus(st *query.Status, codes colour.Family) {
	for _, f := range st.Rules {
		v.addRule(f.Name, f.Value)
	}
	v.showTables(statusGrid(&st.Players), statusGrid(&st.Teams), codes)
	number := func(name string, to *int) {
		value, _ := st.Get(name)
		if n, ok := master.ParsePopulation(value); ok {
			*to = n
		}
	}
	number("numplayers", &v.Count)
	number("maxplayers", &v.MaxPlayers)
	text := func(name string, to *string, most int) {
		if value, ok := st.Get(name); ok {
			*to = clean.Line(value, most)
		}
	}
	if name, ok := st.Get("hostname"); ok {
		v.Name, v.Painted = colour.Line(codes, name, maxNameText), painted(colour.Parts(codes, name, maxNameText))
	}
	text("mapname", &v.Map, maxAreaText)
	text("gametype", &v.Type, maxAreaText)
}

func (v *serverPage) addRule(name, value string) {
	name = clean.Line(name, maxFieldText)
	if name == "" || api.IsPrivateRule(name) {
		return
	}
	if len(v.Rules) == maxRuleRows {
		v.MoreRules++
		return
	}
	v.Rules = append(v.Rules, ruleView{name, clean.Line(value, maxValueText)})
}

// columnName is the name of a column without the endings that mark columns.
func columnName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_t"), "_")
	return clean.Line(name, maxFieldText)
}

// shownColumns returns the columns that are shown.
func shownColumns(names []string) (at []int, shown []string) {
	for i, name := range names {
		if name != "" && !api.IsPrivateRule(name) && len(at) < maxTableColumns {
			at, shown = append(at, i), append(shown, name)
		}
	}
	return at, shown
}

// showTables fills the tables of players and teams.
func (v *serverPage) showTables(players, teams grid, codes colour.Family) {
	v.Players = showTable(v.Lang.T("Players"), players.withTeams(&teams), codes)
	v.Teams = showTable(v.Lang.T("Teams"), teams, codes)
}

func showTable(title string, g grid, codes colour.Family) tableView {
	at, shown := shownColumns(g.columns)
	v := tableView{Name: title, Columns: shown}
	if len(at) == 0 {
		return v
	}
	for i, row := range g.byScore() {
		if i == maxTableRows {
			v.More = g.rows - maxTableRows
			break
		}
		line := make([]template.HTML, len(at))
		for k, column := range at {
			line[k] = painted(colour.Parts(codes, g.value(row, column), maxNameText))
		}
		v.Rows = append(v.Rows, line)
	}
	return v
}
