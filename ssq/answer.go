package ssq

import (
	"net/netip"
	"slices"
	"strings"

	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// rowWriter writes the rows of an answer up to its bounds.
type rowWriter struct {
	plan    *plan
	metrics *metrics
	cursor  cursor
	b       []byte
	room    int // bytes for rows

	found   int // rows that match, those left out at the beginning included
	written int
	more    int // number of rows before the first one without room; 0: all fit

	known map[*master.Names]*tableSlots
}

// longestMore is the longest cell that counts the rows that were left out.
var longestMore = len(wire.AppendMore(nil, 1<<31-1))

// run returns the answer to a plan, at most wire.MaxWritten bytes in the memory
// of b. rows is memory for work.
func (s *Server) run(b, rows []byte, p *plan, snap *snapshot) (answer, used []byte) {
	if len(p.cols) == 0 {
		return wire.AppendRowEnd(b), rows
	}
	header := len(wire.AppendRowEnd(wire.AppendHeader(b, p.query.Header, p.asked, p.there))) - len(b)
	w := rowWriter{plan: p, metrics: s.metrics, b: rows[:0], room: wire.MaxWritten - header - longestMore}
	w.cursor.verdicts, w.cursor.asker = s.verdicts(p), p.asker
	s.walk(&w, snap)
	b = wire.AppendHeader(b, p.query.Header, p.asked, p.there)
	if w.more > 0 {
		s.metrics.cut.Inc()
		b = wire.AppendMore(b, w.more)
	}
	return append(wire.AppendRowEnd(b), w.b...), w.b
}

// verdicts returns the latest verdict on each source, if the plan needs them.
func (s *Server) verdicts(p *plan) map[netip.AddrPort]string {
	if s.opt.Verdicts == nil || !p.uses("x-verdict") {
		return nil
	}
	last := make(map[netip.AddrPort]string)
	for _, e := range s.opt.Verdicts.Recent(verdicts.DefaultCapacity) { // the newest comes first
		if _, known := last[e.Addr]; !known {
			last[e.Addr] = e.Verdict.String()
		}
	}
	return last
}

// walk passes over the rows of the plan until the answer is full.
func (s *Server) walk(w *rowWriter, snap *snapshot) {
	if w.plan.from == gamesTable {
		for _, g := range s.games(snap) {
			w.cursor.game = &g
			if !w.visit() {
				return
			}
		}
		return
	}
	for i := range snap.rows {
		w.cursor.row = &snap.rows[i]
		if !w.server() {
			return
		}
	}
}

// games returns the rows of x-games: the games that have servers, by name.
func (s *Server) games(snap *snapshot) []gameRow {
	byName := make(map[string]*gameRow)
	for i := range snap.rows {
		r := &snap.rows[i]
		g := byName[r.Game]
		if g == nil {
			g = &gameRow{name: r.Game, title: s.title(r.Game)}
			byName[r.Game] = g
		}
		g.servers++
		g.players += r.players
	}
	list := make([]gameRow, 0, len(byName))
	for _, g := range byName {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b gameRow) int { return strings.Compare(a.name, b.name) })
	return list
}

// title returns the display name of a game.
func (s *Server) title(name string) string {
	if s.opt.Games != nil {
		if g, ok := s.opt.Games.Lookup(name); ok && g.Title != "" {
			return g.Title
		}
	}
	return name
}

// server passes over the rows that one server has. It reports false when the answer
// is full.
func (w *rowWriter) server() bool {
	r, rows := w.cursor.row, 1
	switch w.plan.from {
	case playersTable:
		w.cursor.columns, rows = w.slots(r.Players.Names()), r.Players.Rows()
	case teamsTable:
		w.cursor.columns, rows = w.slots(r.Teams.Names()), r.Teams.Rows()
	case rulesTable:
		rows = r.Rules.Len()
	default:
	}
	for w.cursor.index = range rows {
		if !w.visit() {
			return false
		}
	}
	return true
}

// slots returns the places of the columns of a table.
func (w *rowWriter) slots(n *master.Names) *tableSlots {
	t := w.known[n]
	if t == nil {
		if w.known == nil {
			w.known = make(map[*master.Names]*tableSlots)
		}
		t = newTableSlots(n)
		w.known[n] = t
	}
	return t
}

// visit writes the row that the cursor is at, if it matches. It reports false
// when the answer is full.
func (w *rowWriter) visit() bool {
	if !matches(w.plan.tests, &w.cursor) {
		return true
	}
	if w.found++; w.found <= w.plan.query.Offset {
		return true
	}
	if w.written > 0 && w.written == w.plan.query.Limit {
		w.more = w.found - 1
		return false
	}
	mark := len(w.b)
	for i := range w.plan.cols {
		var cut bool
		if w.b, cut = w.plan.cols[i].appendCell(w.b, &w.cursor); cut {
			w.metrics.cells.Inc()
		}
	}
	w.b = wire.AppendRowEnd(w.b)
	switch {
	case len(w.b) <= w.room:
		w.written++
		return true
	case len(w.b)-mark > w.room: // it would never have room
		w.metrics.rows.Inc()
		w.b = w.b[:mark]
		return true
	default:
		w.b = w.b[:mark]
		w.more = w.found - 1
		return false
	}
}
