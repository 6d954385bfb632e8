package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/web/api"
)

// The chart of a server's players: 24 hours, drawn by the server so that it needs
// no script.
const (
	chartSpan   = 24 * time.Hour
	chartWidth  = 720
	chartHeight = 160
	chartLeft   = 34 // room for the numbers
	chartBottom = 22 // room for the hours
	chartTop    = 8
)

// chartPoint is the number of players at a time.
type chartPoint struct {
	at      time.Time
	players int
}

// chart draws the history of a server; nil if there is none.
func (s *Server) chart(r *api.Row, now time.Time) *historyView {
	series, ok := s.opt.History.Of(r.HistoryKey(), history.Day)
	if !ok {
		return nil
	}
	var points []chartPoint
	for i, n := range series.Players {
		if n != history.Away {
			points = append(points, chartPoint{series.First.Add(time.Duration(i) * history.Interval), n})
		}
	}
	return draw(points, history.Interval+history.Interval/2, now)
}

// historyView is the data of the chart template.
type historyView struct {
	Width, Height int
	Line          string // path of the line
	Area          string // path of the area below it
	Marks         []chartMark
	Hours         []chartMark
	Text          string // the chart in one sentence
	Table         []hourView
}

// chartMark is a line of the grid with its label.
type chartMark struct {
	X, Y, X2 string
	Label    string
}

// hourView is one hour in the table with the same data.
type hourView struct {
	From, To string
	Most     int
	Known    bool
}

// draw makes the chart of the points, which are in order, up to now. Where two
// of them are further apart than gap the server was not in the list. It returns
// nil if there is nothing to show.
func draw(points []chartPoint, gap time.Duration, now time.Time) *historyView {
	begin := now.Add(-chartSpan)
	for len(points) > 0 && points[0].at.Before(begin) {
		points = points[1:]
	}
	if len(points) == 0 {
		return nil
	}
	most, last := 0, points[len(points)-1]
	for _, p := range points {
		most = max(most, p.players)
	}
	top := roundUp(most)
	x := func(at time.Time) float64 {
		return chartLeft + (chartWidth-chartLeft)*at.Sub(begin).Seconds()/chartSpan.Seconds()
	}
	floor := float64(chartHeight - chartBottom)
	y := func(n int) float64 { return floor - (floor-chartTop)*float64(n)/float64(top) }

	v := &historyView{Width: chartWidth, Height: chartHeight}
	var line, area strings.Builder
	for i := 0; i < len(points); {
		j := i + 1
		for j < len(points) && points[j].at.Sub(points[j-1].at) <= gap {
			j++
		}
		drawRun(&line, &area, points[i:j], gap, now, floor, x, y)
		i = j
	}
	v.Line, v.Area = line.String(), area.String()
	for _, n := range []int{0, top / 2, top} {
		v.Marks = append(v.Marks, chartMark{X: number(chartLeft), X2: number(chartWidth), Y: number(y(n)), Label: strconv.Itoa(n)})
	}
	for at := begin.Truncate(time.Hour).Add(time.Hour); at.Before(now); at = at.Add(time.Hour) {
		if at.UTC().Hour()%6 == 0 {
			v.Hours = append(v.Hours, chartMark{X: number(x(at)), Y: number(floor), Label: at.UTC().Format("15:04")})
		}
	}
	v.Table = hourTable(points, now)
	v.Text = fmt.Sprintf("Players in the last 24 hours: %d at the latest, %d at most.", last.players, most)
	return v
}

// drawRun adds points without a gap between them, as steps: a number holds until
// the next one.
func drawRun(line, area *strings.Builder, run []chartPoint, gap time.Duration, now time.Time, floor float64, x func(time.Time) float64, y func(int) float64) {
	first, last := run[0], run[len(run)-1]
	end := last.at.Add(gap)
	if end.After(now) {
		end = now
	}
	fmt.Fprintf(line, "M%s %s", number(x(first.at)), number(y(first.players)))
	fmt.Fprintf(area, "M%s %sV%s", number(x(first.at)), number(floor), number(y(first.players)))
	for _, p := range run[1:] {
		step := "H" + number(x(p.at)) + "V" + number(y(p.players))
		line.WriteString(step)
		area.WriteString(step)
	}
	fmt.Fprintf(line, "H%s", number(x(end)))
	fmt.Fprintf(area, "H%sV%sZ", number(x(end)), number(floor))
}

// roundUp returns a round number that is not less, at least 2 and even, so that
// half of it is whole.
func roundUp(n int) int {
	for step := 1; ; step *= 10 {
		for _, f := range []int{2, 4, 6, 8, 10, 16} {
			if f*step >= n {
				return f * step
			}
		}
	}
}

// number writes a coordinate.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// hourTable returns the same data as a table, the latest hour first.
func hourTable(points []chartPoint, now time.Time) []hourView {
	var out []hourView
	for to := now.Truncate(time.Hour).Add(time.Hour); to.After(now.Add(-chartSpan)); to = to.Add(-time.Hour) {
		from := to.Add(-time.Hour)
		h := hourView{From: from.UTC().Format("15:04"), To: to.UTC().Format("15:04")}
		for _, p := range points {
			if !p.at.Before(from) && p.at.Before(to) {
				h.Most, h.Known = max(h.Most, p.players), true
			}
		}
		out = append(out, h)
	}
	return out
}
