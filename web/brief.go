package web

import (
	"slices"
	"strconv"

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

// weekView is what the last seven days of a server come to.
type weekView struct {
	api.Week
	Since string
}

// week returns what the last seven days of a server come to.
func (s *Server) week(l *lang.Language, of *api.Row) weekView {
	v := weekView{Week: s.api.Week(of)}
	if v.New != nil {
		v.Since = l.Time(*v.New, "Monday, 2 January")
	}
	return v
}
