package web

import (
	"slices"
	"strconv"
	"sync"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/api"
)

// dayView is a chart of the last day in a row of a list: players by hour, the present one last.
type dayView [24]int

// addBrief adds what the history has of a server to its row.
func (v *rowView) addBrief(l *lang.Language, book *history.Book, r *api.Row) {
	brief, ok := book.Brief(r.HistoryKey())
	if !ok {
		return
	}
	v.Day = brief.Day
	if brief.New {
		v.Since = l.Time(brief.First, "Monday, 2 January")
	}
}

// Measures of the chart of a day: a unit for each hour, and its height.
const (
	dayTall = 9
	dayTop  = 4 // players at the top, at least
)

// append writes the chart as SVG, nothing if there were no players. It is not for screen readers:
// the page of the server has the same as a table.
func (v dayView) append(b []byte) []byte {
	most := slices.Max(v[:])
	if most <= 0 {
		return b
	}
	top := max(most, dayTop)
	b = append(b, `<svg class="day" viewBox="0 0 24 9" aria-hidden="true"><path d="M0 9`...)
	at := dayTall
	for hour, players := range v {
		y := dayTall - (dayTall*max(players, 0)+top-1)/top
		if y == at {
			continue
		}
		if hour > 0 {
			b = strconv.AppendInt(append(b, 'H'), int64(hour), 10)
		}
		b = strconv.AppendInt(append(b, 'V'), int64(y), 10)
		at = y
	}
	if at != dayTall {
		b = append(b, `H24V9`...)
	}
	return append(b, `"/></svg>`...)
}

// ranks keeps how many players the servers of games had, until the history changes.
type ranks struct {
	mu      sync.Mutex // guards the fields below
	version uint64     // of the history
	kept    map[string][]int
}

// of returns the numbers of players of all servers of a game, as history.Brief adds them up, most
// first. read makes them if they are not kept.
func (r *ranks) of(version uint64, game string, read func() []int) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || version != r.version {
		r.version, r.kept = version, make(map[string][]int)
	}
	list, ok := r.kept[game]
	if !ok {
		list = read()
		slices.SortFunc(list, func(a, b int) int { return b - a })
		r.kept[game] = list
	}
	return list
}

// weekView is what the last seven days of a server come to.
type weekView struct {
	Rank, Ranked    int // among the servers of its game, by players; 0: it had none
	Uptime, Counted int // percent of so many hours; 0 hours: nothing is known
	Since           string
}

// week returns what the last seven days of a server come to.
func (s *Server) week(l *lang.Language, of *api.Row) (v weekView) {
	book := s.opt.History
	brief, ok := book.Brief(of.HistoryKey())
	if !ok || brief.Counted == 0 {
		return v
	}
	v.Uptime, v.Counted = 100*brief.Listed/brief.Counted, brief.Counted
	if brief.New {
		v.Since = l.Time(brief.First, "Monday, 2 January")
	}
	if brief.Players == 0 {
		return v
	}
	sums := s.ranks.of(book.Version(), of.Game, func() (sums []int) {
		for _, r := range choosePage(s.api.Snapshot(), pageParams{game: of.Game}) {
			if b, ok := book.Brief(r.HistoryKey()); ok && b.Players > 0 {
				sums = append(sums, b.Players)
			}
		}
		return sums
	})
	before, _ := slices.BinarySearchFunc(sums, brief.Players, func(sum, mine int) int { return mine - sum })
	v.Rank, v.Ranked = before+1, max(len(sums), before+1)
	return v
}
