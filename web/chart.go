package web

import (
	"bytes"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/lang"
)

// A chart of players is SVG without script. It stretches to the width of the page. Its labels
// are outside of the SVG, so that they keep the size of text on every screen.
const (
	chartHeight = 172 // pixels
	chartTop    = 16  // room for the highest number
	chartFloor  = 148 // room for times below
	plotWidth   = 1000
	plotHeight  = 100
)

// chartView is the data of the template of a chart.
type chartView struct {
	Height, Top, Floor   int // of all, where the plot begins and ends
	Plot, Below          int // its height, where the times stand
	PlotWidth, PlotUnits int
	Line                 string // path of the line
	Area                 string // path of the area below it
	Marks                []chartMark
	Times                []chartMark
	Title                string // "24 hours"
	Detail               string // note behind the title
	Text                 string // the chart in one sentence
	Caption, Of          string // of the table: its title, heading of its rows
	Nothing              string // text of a row without a number
	Table                []chartRow
}

// chartMark is a line of the grid with its label.
type chartMark struct {
	At    string // pixels from the top, or percent from the left
	Above int    // of a number: where its text stands
	Label string
}

// chartRow is a part of the time in the table with the same data.
type chartRow struct {
	Time  string
	Most  int
	Known bool
}

// spanTitle returns the title of a span.
func spanTitle(l *lang.Language, s history.Span) string {
	return [...]string{l.T("24 hours"), l.T("7 days"), l.T("30 days")}[s]
}

// draw makes the chart of a series of a span. nothing is the word for steps without a
// number. It returns nil if there are only those.
func draw(l *lang.Language, series history.Series, span history.Span, nothing string) *chartView {
	most, at, last := -1, 0, history.Away
	for i, n := range series.Players {
		if n > most {
			most, at = n, i
		}
		if n != history.Away {
			last = n
		}
	}
	if most < 0 {
		return nil
	}
	c := canvas{lang: l, series: series, begin: series.End().Add(-span.Length()), length: span.Length(), top: roundUp(most)}
	v := &chartView{
		Height: chartHeight, Top: chartTop, Floor: chartFloor, Plot: chartFloor - chartTop, Below: chartHeight - 5, PlotWidth: plotWidth, PlotUnits: plotHeight,
		Title: spanTitle(l, span), Nothing: nothing, Times: c.times(span), Table: c.table(span),
	}
	v.Line, v.Area = c.paths()
	for _, n := range []int{c.top, c.top / 2, 0} {
		y := chartFloor - (chartFloor-chartTop)*n/c.top
		m := chartMark{At: strconv.Itoa(y), Above: y - 4}
		if n > 0 {
			m.Label = strconv.Itoa(n)
		}
		v.Marks = append(v.Marks, m)
	}
	when := series.First.Add(time.Duration(at) * series.Step)
	if span == history.Day {
		v.Of, v.Caption = l.T("Hour"), l.T("Most players by hour, last %1 (UTC)", v.Title)
		v.Detail = l.T("%1 at the latest, %2 at most, at %3 UTC.", last, most, when.Format("15:04"))
	} else {
		v.Of, v.Caption = l.T("Day"), l.T("Most players by day, last %1 (UTC)", v.Title)
		v.Detail = l.T("%1 at most, on %2.", most, l.Time(when, "Monday, 2 January"))
	}
	v.Text = l.T("Players in the last %1: %2", v.Title, v.Detail)
	return v
}

// canvas has the scales of a chart.
type canvas struct {
	lang   *lang.Language
	series history.Series
	begin  time.Time
	length time.Duration
	top    int // players at the top
}

// x returns where a time is, in units of the plot.
func (c *canvas) x(at time.Time) float64 {
	return plotWidth * at.Sub(c.begin).Seconds() / c.length.Seconds()
}

// y returns where a number is.
func (c *canvas) y(n int) string {
	return number(plotHeight - plotHeight*float64(n)/float64(c.top))
}

// paths returns the line and the area of all steps: a number holds during its step, and
// where there is none there is a gap.
func (c *canvas) paths() (line, area string) {
	var l, a strings.Builder
	down := "V" + number(plotHeight) + "Z"
	before := history.Away
	for i, n := range c.series.Players {
		at := number(c.x(c.series.First.Add(time.Duration(i) * c.series.Step)))
		if n == before {
			continue
		}
		if before != history.Away {
			l.WriteString("H" + at)
			a.WriteString("H" + at)
		}
		switch {
		case n == history.Away:
			a.WriteString(down)
		case before == history.Away:
			l.WriteString("M" + at + " " + c.y(n))
			a.WriteString("M" + at + " " + number(plotHeight) + "V" + c.y(n))
		default:
			l.WriteString("V" + c.y(n))
			a.WriteString("V" + c.y(n))
		}
		before = n
	}
	if before != history.Away {
		l.WriteString("H" + number(plotWidth))
		a.WriteString("H" + number(plotWidth) + down)
	}
	return l.String(), a.String()
}

// times returns the labels of times: hours, days or weeks, in UTC.
func (c *canvas) times(span history.Span) (out []chartMark) {
	every, layout := 6*time.Hour, "15:04"
	switch span {
	case history.Week:
		every, layout = 24*time.Hour, "Mon"
	case history.Month:
		every, layout = 24*time.Hour, lang.Key("2 Jan")
	default:
	}
	const narrow = 280 // pixels of a chart on a small phone, of which a character takes eight
	for at := c.begin.Truncate(every).Add(every); at.Before(c.begin.Add(c.length)); at = at.Add(every) {
		if span == history.Month && at.Weekday() != time.Monday {
			continue
		}
		label, x := c.lang.Time(at, layout), c.x(at)/plotWidth
		if half := float64(4*utf8.RuneCountInString(label)) / narrow; x < half || x > 1-half {
			label = "" // it would be cut off
		}
		out = append(out, chartMark{At: number(100*x) + "%", Label: label})
	}
	return out
}

// table returns the same data as a table, the latest time first.
func (c *canvas) table(span history.Span) (out []chartRow) {
	row := 24 * time.Hour
	if span == history.Day {
		row = time.Hour
	}
	end := c.begin.Add(c.length)
	for from := end.Add(-1).Truncate(row); from.Add(row).After(c.begin); from = from.Add(-row) {
		r := chartRow{Time: c.lang.Time(from, "Mon 2 Jan")}
		if span == history.Day {
			r.Time = c.lang.T("%1 to %2", from.Format("15:04"), from.Add(row).Format("15:04"))
		}
		for i := range c.series.Players {
			at, n := c.series.First.Add(time.Duration(i)*c.series.Step), c.series.Players[i]
			if n != history.Away && !at.Before(from) && at.Before(from.Add(row)) {
				r.Most, r.Known = max(r.Most, n), true
			}
		}
		out = append(out, r)
	}
	return out
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
func number(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// html renders the chart.
func (v *chartView) html(l *lang.Language) template.HTML {
	var b bytes.Buffer
	if err := templates.In(l, "chart").ExecuteTemplate(&b, "chart.html", v); err != nil {
		panic(err) // the template does not fit the view, which any test finds
	}
	return markup(b.Bytes())
}
