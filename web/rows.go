package web

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/api"
)

// rowTable is a table of servers. Columns that would be all the same are left out.
type rowTable struct {
	Caption string
	Columns []columnView
	Rows    int
	HTML    template.HTML // of the rows
	Games   bool          // there is a column for them
}

// columnView is the head of a column.
type columnView struct {
	Title  string
	Link   string // sorts by it; empty if nothing does
	Sorted string // value of aria-sort; empty: not sorted by it
	Class  string
}

// rowView is a server in a list.
type rowView struct {
	Parts                             []colour.Part // of the name, in their colours
	Name, Game, Map, Country, Address string
	Flag, CountryName                 string
	Link, GameURL                     string
	Join                              string // starts the game; empty: the game has no such link
	Told                              string // master that it is known from; empty: it reports here
	Player                            string // one that the search found; empty: none, or found by other words
	Players, MaxPlayers               int
	Full, Password                    bool
	Reached                           reachView
	Age                               string
	Since                             string  // date when the server was new; empty: it is not
	Day                               dayView // players in the last hours
}

// rowView returns a server in a list, as a visitor is shown it.
func (s *Server) rowView(l *lang.Language, r *api.Row, now time.Time, asker advertise.Asker) rowView {
	given := asker.Given(r.Public)
	return rowView{
		Parts: r.NameParts(maxNameText),
		Name:  clean.Line(r.Name, maxNameText), Game: clean.Line(r.Title, maxGameText), Map: clean.Line(r.Map, maxAreaText),
		Country: clean.Line(r.Country, maxAreaText), Flag: flag(r.Country), CountryName: clean.Line(countryName(l, r.Country), maxAreaText), Address: given.String(),
		Link: s.serverURL(r.Server), GameURL: s.gameURL(r.Game), Join: string(r.AppendJoin(nil, given)),
		Players: r.Count, MaxPlayers: r.MaxPlayers, Full: r.MaxPlayers > 0 && r.Count >= r.MaxPlayers,
		Password: r.Password, Reached: reached(l, r.Server, s.opt.Nouns.Has(noun.Meetings)), Age: ageText(l, now.Sub(r.First)),
		Told: clean.Line(r.Told, maxNameText),
	}
}

func (s *Server) rowViews(l *lang.Language, rows []*api.Row, now time.Time, asker advertise.Asker) []rowView {
	out := make([]rowView, 0, len(rows))
	for _, r := range rows {
		out = append(out, s.rowView(l, r, now, asker))
	}
	return out
}

// table returns a table of servers. head makes the head of a column that the list
// can be sorted by. query is the text of a search in lower case; empty: none.
func (s *Server) table(l *lang.Language, rows []*api.Row, now time.Time, asker advertise.Asker, withGames bool, query string, head func(string, tableColumn, string) columnView) rowTable {
	t := rowTable{Rows: len(rows), Games: withGames}
	t.Columns = []columnView{head(l.T("Name"), colName, "name")}
	if t.Games {
		t.Columns = append(t.Columns, head(l.T("Game"), colGame, "game"))
	}
	t.Columns = append(t.Columns,
		head(l.T("Map"), colMap, "map"), head(l.T("Players"), colPlayers, "num"), columnView{Title: l.T("Address"), Class: "addr"},
		head(l.T("Listed for"), colAge, "age"), columnView{Title: l.T("Connection"), Class: "how"})
	words := newRowWords(l)
	b := make([]byte, 0, len(rows)*1100)
	for _, r := range rows {
		v := s.rowView(l, r, now, asker)
		v.addBrief(l, s.opt.History, r)
		if query != "" {
			v.Player = playerFound(r, query)
		}
		b = words.appendRow(b, &v, t.Games)
	}
	t.HTML = markup(b) // appendRow escapes all texts
	return t
}

// playerFound returns the name of the first player with a text in lower case, unless
// the server's name or map has it.
func playerFound(r *api.Row, lower string) string {
	if strings.Contains(r.LowerName, lower) || strings.Contains(r.LowerMap, lower) {
		return ""
	}
	for i := range r.PlayersFound(lower) {
		return clean.Line(r.PlayerName(i), maxNameText)
	}
	return ""
}

// unsorted makes the head of a column that cannot be sorted.
func unsorted(title string, _ tableColumn, class string) columnView {
	return columnView{Title: title, Class: class}
}

// rowWords are the words in rows of servers. They need no escapes.
type rowWords struct {
	noName, password, join, copied, fresh                                                        string
	copyBefore, copyAfter, withBefore, withAfter, fromBefore, fromAfter, sinceBefore, sinceAfter string
}

func newRowWords(l *lang.Language) *rowWords {
	const argument = "\x00"
	w := &rowWords{noName: l.T("no name"), password: l.T("password"), join: l.T("Join"), copied: l.T("Copy"), fresh: l.T("new")}
	w.copyBefore, w.copyAfter, _ = strings.Cut(l.T("Copy %1", argument), argument)
	w.withBefore, w.withAfter, _ = strings.Cut(l.T("with <bdi>%1</bdi>", argument), argument)
	w.fromBefore, w.fromAfter, _ = strings.Cut(l.T("known from %1", argument), argument)
	w.sinceBefore, w.sinceAfter, _ = strings.Cut(l.T("new since %1", argument), argument)
	return w
}

// appendRow writes a row of a table of servers. Pages of servers are asked for most,
// and templates take twenty times as long. The roles are those that the elements have
// anyway: browsers drop them where the style sheet makes cards of the rows.
func (w *rowWords) appendRow(b []byte, v *rowView, games bool) []byte {
	b = append(b, `<tr role="row"`...)
	if v.Players == 0 {
		b = append(b, ` class="idle"`...)
	}
	b = append(b, `><th scope="row" role="rowheader" class="name"><div>`...)
	if v.Flag != "" {
		b = append(appendText(append(b, `<span class="flag" role="img" aria-label="`...), v.CountryName), `" title="`...)
		b = append(appendText(b, v.CountryName), `">`...)
		b = append(append(b, v.Flag...), `</span> `...)
	}
	b = append(appendText(append(b, `<a href="`...), v.Link), `"`...)
	if v.Name == "" {
		b = append(b, `><i>`+w.noName+`</i></a>`...)
	} else {
		b = append(appendText(append(b, ` title="`...), v.Name), `"><bdi>`...)
		b = append(appendPainted(b, v.Parts), `</bdi></a>`...)
	}
	if v.Password {
		b = append(b, ` <span class="tag">`+w.password+`</span>`...)
	}
	if v.Since != "" {
		b = append(b, ` <span class="tag new" title="`+w.sinceBefore+v.Since+w.sinceAfter+`">`+w.fresh+`</span>`...)
	}
	b = append(b, `</div>`...)
	if v.Player != "" {
		b = append(appendText(append(b, `<div class="also">`+w.withBefore...), v.Player), w.withAfter+`</div>`...)
	}
	if v.Told != "" {
		b = append(appendText(append(b, `<div class="also">`+w.fromBefore...), v.Told), w.fromAfter+`</div>`...)
	}
	b = append(b, `</th>`...)
	if games {
		b = append(appendText(append(b, `<td role="cell" class="game"><a class="quiet" href="`...), v.GameURL), `" title="`...)
		b = append(appendText(b, v.Game), `"><bdi>`...)
		b = append(appendText(b, v.Game), `</bdi></a></td>`...)
	}
	b = append(appendText(append(b, `<td role="cell" class="map"><bdi title="`...), v.Map), `">`...)
	b = append(appendText(b, v.Map), `</bdi></td>`...)
	b = append(b, `<td role="cell" class="num`...)
	if v.Full {
		b = append(b, ` full`...)
	}
	b = v.Day.append(append(b, `">`...))
	b = strconv.AppendInt(b, int64(v.Players), 10)
	if v.MaxPlayers > 0 {
		b = strconv.AppendInt(append(b, '/'), int64(v.MaxPlayers), 10)
	}
	b = append(appendText(append(b, `</td><td role="cell" class="addr"><div><code>`...), v.Address), `</code>`...)
	b = w.appendCopy(b, v.Address)
	if v.Join != "" {
		b = append(appendText(append(b, `<a class="small button" href="`...), v.Join), `">`+w.join+`</a>`...)
	}
	b = append(append(append(b, `</div></td><td role="cell" class="age">`...), v.Age...), `</td><td role="cell" class="how"><span class="reach`...)
	if v.Reached.Good {
		b = append(b, ` good`...)
	}
	b = append(append(append(b, `" title="`...), v.Reached.Text...), `">`...)
	return append(append(b, v.Reached.Word...), "</span></td></tr>\n"...)
}

// appendCopy writes a button that copies a text. Only scripts show it.
func (w *rowWords) appendCopy(b []byte, text string) []byte {
	b = append(appendText(append(b, `<button type="button" class="small copy" data-copy="`...), text), `" aria-label="`...)
	b = append(append(appendText(append(b, w.copyBefore...), text), w.copyAfter...), `">`...)
	return append(append(b, w.copied...), `</button>`...)
}

// appendText writes a text, for an element or for an attribute in double quotes.
func appendText(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		var escaped string
		switch s[i] {
		case '&':
			escaped = "&amp;"
		case '<':
			escaped = "&lt;"
		case '>':
			escaped = "&gt;"
		case '"':
			escaped = "&#34;"
		case '\'':
			escaped = "&#39;"
		default:
			continue
		}
		b = append(append(b, s[from:i]...), escaped...)
		from = i + 1
	}
	return append(b, s[from:]...)
}

// sortBy sorts a list by a text of its elements.
func sortBy[T any](list []T, text func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(text(a), text(b)) })
}
