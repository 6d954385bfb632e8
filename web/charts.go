package web

import (
	"html/template"
	"net/http"
	"sync"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// maxCharts is the number of charts that are kept until the next sample, of about
// 10 KiB each. Further ones are drawn for each page.
const maxCharts = 512

// charts keeps drawn charts until the history changes.
type charts struct {
	book *history.Book

	mu      sync.Mutex // guards the fields below
	version uint64     // of the history
	kept    map[chartKey]template.HTML
}

// chartKey identifies the subject of a chart: a server, a game, or all if both are zero.
type chartKey struct {
	server history.Key
	game   string
	span   history.Span
	lang   *lang.Language
}

func newCharts(book *history.Book) *charts {
	return &charts{book: book, kept: make(map[chartKey]template.HTML)}
}

// get returns a chart, which read and draw make if it is not kept; empty if there is
// nothing to show, or nothing that the chart of the next shorter span does not show.
func (c *charts) get(key chartKey, nothing string, read func(history.Span) history.Series) template.HTML {
	version := c.book.Version()
	c.mu.Lock()
	if version > c.version {
		c.version, c.kept = version, make(map[chartKey]template.HTML)
	}
	chart, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return chart
	}
	if series := read(key.span); key.span == history.Day || len(series.Players) > int((key.span-1).Length()/key.span.Step()) {
		if v := draw(key.lang, series, key.span, nothing); v != nil {
			chart = v.html(key.lang)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == version && len(c.kept) < maxCharts {
		c.kept[key] = chart
	}
	return chart
}

// len returns the number of charts that are kept.
func (c *charts) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept)
}

// all returns the charts of the spans that have something to show.
func (c *charts) all(key chartKey, nothing string, read func(history.Span) history.Series) (out []template.HTML) {
	for _, key.span = range history.Spans() {
		if chart := c.get(key, nothing, read); chart != "" {
			out = append(out, chart)
		}
	}
	return out
}

// serverCharts returns the charts of a server.
func (s *Server) serverCharts(l *lang.Language, r *api.Row) []template.HTML {
	key := r.HistoryKey()
	return s.charts.all(chartKey{server: key, lang: l}, l.T("not listed"), func(span history.Span) history.Series {
		series, _ := s.opt.History.Of(key, span)
		return series
	})
}

// gameCharts returns the charts of a game, of all games if name is empty.
func (s *Server) gameCharts(l *lang.Language, name string) []template.HTML {
	return s.charts.all(chartKey{game: name, lang: l}, l.T("not counted"), func(span history.Span) history.Series { return s.api.GameHistory(name, span) })
}

// homeCharts returns the chart of all games for the first page, and the titles of the
// other spans that have one.
func (s *Server) homeCharts(l *lang.Language) (day template.HTML, longer []string) {
	for _, span := range history.Spans() {
		chart := s.charts.get(chartKey{span: span, lang: l}, l.T("not counted"), func(span history.Span) history.Series { return s.api.GameHistory("", span) })
		switch {
		case span == history.Day:
			day = chart
		case chart != "":
			longer = append(longer, spanTitle(l, span))
		}
	}
	return day, longer
}

// chartsPage is the data of the template of the charts of all games.
type chartsPage struct {
	page.Frame
	Charts []template.HTML
	Games  []gameView
}

// chartsQuestion is the question for that page.
type chartsQuestion struct{}

// serveCharts answers /charts.
func (s *Server) serveCharts(w http.ResponseWriter, r *http.Request) {
	list := s.api.Snapshot()
	s.replyPage(w, r, list, chartsQuestion{}, func(l *lang.Language) []byte {
		return templates.Render("charts", chartsPage{
			Frame: s.site.LiveFrame(l, l.T("Players over time"), page.Home, ""), Charts: s.gameCharts(l, ""), Games: s.gameViews(list, pageParams{}),
		})
	})
}
