package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestCharts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Put(webtest.Listed{})
		for _, path := range []string{"/", serverPath, "/games/gmtest"} {
			webtest.WantNoParts(t, path+" before the first sample", f.Page(path), "<svg", "Players over time")
		}
		webtest.WantParts(t, "the charts before the first sample", f.Page("/charts"), "Nothing has been counted yet")
		for i, n := range []string{"3", "9", "4"} {
			f.Put(webtest.Listed{Rules: []string{"hostname", "One", "numplayers", n}})
			f.sample(time.Now())
			if i < 2 {
				time.Sleep(history.Interval)
			}
		}
		const day = "Players in the last 24 hours: 4 at the latest, 9 at most, at 00:05 UTC."
		for path, want := range map[string][]string{
			"/":             {day, `<a href="/charts">By game</a>`},
			"/charts":       {day, "not counted", `href="/games/gmtest#charts"`},
			"/games/gmtest": {day, "not counted"},
			serverPath:      {day, "not listed"},
		} {
			page := f.Page(path)
			webtest.CheckFit(t, page)
			for _, w := range want {
				webtest.WantParts(t, path, page, w)
			}
			webtest.WantParts(t, path, page, `role="img" aria-label="`+day+`"`, "<caption>Most players by hour, last 24 hours (UTC)</caption>", `<td class="num">9</td>`)
			webtest.WantNoParts(t, path, page, "<script>", "style=", "7 days", "30 days") // they show nothing more yet
		}
		webtest.WantNoParts(t, "another game", f.Page("/games/gmother"), "<svg")
	})
}

// The chart of a longer time is offered once it shows more than the shorter one.
func TestLongerChartsNeedHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		began := time.Now()
		const week, month = "Players in the last 7 days: 9 at most, on Saturday, 1 January.", "Players in the last 30 days: 9 at most, on Saturday, 1 January."
		players := "9"
		for _, step := range []struct {
			at     time.Duration
			want   []string
			absent []string
			more   string
		}{
			{0, nil, []string{"7 days", "30 days"}, "By game"},
			{24*time.Hour - history.Interval, nil, []string{"7 days", "30 days"}, "By game"},
			{24 * time.Hour, []string{week}, []string{"30 days"}, "By game, 7 days"},
			{7*24*time.Hour - history.Interval, []string{week}, []string{"30 days"}, "By game, 7 days"},
			{7 * 24 * time.Hour, []string{month}, nil, "By game, 7 days, 30 days"},
		} {
			time.Sleep(step.at - time.Since(began))
			f.Put(webtest.Listed{Rules: []string{"hostname", "One", "numplayers", players}})
			f.sample(time.Now())
			players = "4"
			webtest.WantParts(t, "/ after "+step.at.String(), f.Page("/"), `<a href="/charts">`+step.more+`</a>`)
			for _, path := range []string{"/charts", "/games/gmtest", serverPath} {
				page := f.Page(path)
				webtest.WantParts(t, path+" after "+step.at.String(), page, append(step.want, "last 24 hours")...)
				webtest.WantNoParts(t, path+" after "+step.at.String(), page, step.absent...)
			}
		}
	})
}

// seriesOf returns a series that ends at noon.
func seriesOf(s history.Span, players ...int) history.Series {
	end := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	return history.Series{First: end.Add(-time.Duration(len(players)) * s.Step()), Step: s.Step(), Players: players}
}

func TestDraw(t *testing.T) {
	v := draw(nil, seriesOf(history.Day, 1, 1, 3, history.Away, history.Away, 5), history.Day, "not listed")
	if v.Line != "M979.2 83.3H986.1V50H989.6M996.5 16.7H1000" || v.Area != "M979.2 100V83.3H986.1V50H989.6V100ZM996.5 100V16.7H1000V100Z" {
		t.Errorf("two runs of samples: line %q, area %q", v.Line, v.Area)
	}
	if v.Text != "Players in the last 24 hours: 5 at the latest, 5 at most, at 11:55 UTC." {
		t.Errorf("text: %q", v.Text)
	}
	if len(v.Table) != 24 || v.Table[0] != (chartRow{"11:00 to 12:00", 5, true}) || v.Table[1].Known || v.Table[23].Time != "12:00 to 13:00" {
		t.Errorf("table: %+v", v.Table)
	}
	for s, want := range map[history.Span][]string{
		history.Day: {"18:00", "00:00", "06:00"}, history.Week: {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"}, history.Month: {"9 Feb", "16 Feb", "23 Feb", "2 Mar"},
	} {
		players := make([]int, s.Steps())
		players[3] = 7
		v := draw(nil, seriesOf(s, players...), s, "")
		var got []string
		for _, m := range v.Times {
			if m.Label != "" {
				got = append(got, m.Label)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: times %q, want %q", s, got, want)
		}
		if !strings.HasPrefix(v.Line, "M0 100") || !strings.HasSuffix(v.Line, "H1000") || strings.Count(v.Line, "M") != 1 {
			t.Errorf("%v: line %q", s, v.Line)
		}
		if rows := map[history.Span]int{history.Day: 24, history.Week: 8, history.Month: 31}[s]; len(v.Table) != rows {
			t.Errorf("%v: %d rows in the table, want %d", s, len(v.Table), rows)
		}
	}
	if draw(nil, seriesOf(history.Day), history.Day, "") != nil || draw(nil, seriesOf(history.Day, history.Away, history.Away), history.Day, "") != nil {
		t.Error("no samples: got a chart")
	}
	if v := draw(nil, seriesOf(history.Day, 0, 0), history.Day, ""); v == nil || v.Line != "M993.1 100H1000" {
		t.Errorf("no players: got %+v, want a line at the bottom", v)
	}
}

// Times on a chart do not touch each other on the smallest screen, nor its edges.
func TestChartTimesFit(t *testing.T) {
	const width, character = 280.0, 8.0
	for _, s := range history.Spans() {
		for shift := range 7 * 24 {
			players := make([]int, s.Steps())
			series := seriesOf(s, players...)
			series.First = series.First.Add(time.Duration(shift) * time.Hour)
			end := 0.0
			for _, m := range draw(nil, series, s, "").Times {
				if m.Label == "" {
					continue
				}
				var percent float64
				if _, err := fmt.Sscanf(m.At, "%f%%", &percent); err != nil {
					t.Fatal(err)
				}
				half := float64(len(m.Label)) * character / 2
				if at := percent * width / 100; at-half < end-1 || at+half > width+1 {
					t.Fatalf("%v: %s at %s touches the one before, which ends at %.0f, or an edge", s, m.Label, m.At, end)
				} else {
					end = at + half
				}
			}
		}
	}
}

func TestRoundUp(t *testing.T) {
	for n, want := range map[int]int{0: 2, 1: 2, 2: 2, 3: 4, 5: 6, 9: 10, 11: 16, 17: 20, 64: 80, 101: 160, 9999: 10000} {
		if got := roundUp(n); got != want {
			t.Errorf("roundUp(%d): got %d, want %d", n, got, want)
		}
	}
}

// TestChartsAreKept: requests without end draw each chart once for each sample, and
// charts of all servers take bounded memory.
func TestChartsAreKept(t *testing.T) {
	f := newFixture(t)
	const servers = maxCharts/3 + 10
	for i := range servers {
		f.Put(webtest.Listed{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(1000+i)).String()})
	}
	f.sample(time.Now())
	rows := f.server.api.Snapshot().Rows
	for range 3 {
		for _, r := range rows {
			if n := len(f.server.serverCharts(nil, r)); n != 1 {
				t.Fatalf("%d charts, want that of a day", n)
			}
		}
		if n := f.server.charts.len(); n != maxCharts {
			t.Fatalf("%d charts are kept, want %d", n, maxCharts)
		}
	}
	reads := 0
	series := func(s history.Span) history.Series { reads++; return seriesOf(s, 1) }
	f.sample(time.Now())
	key := chartKey{server: history.Key{Origin: master.Static.Name}}
	for range 5 {
		f.server.charts.all(key, "", series)
	}
	if reads != 3 {
		t.Errorf("the history was read %d times for 5 pages, want 3", reads)
	}
	f.sample(time.Now())
	if f.server.charts.all(key, "", series); reads != 6 || f.server.charts.len() != 3 {
		t.Errorf("after a sample: the history was read %d times, %d charts are kept; want 6 and 3", reads, f.server.charts.len())
	}
}

func TestChartsPagePerAddressLimit(t *testing.T) {
	f := newFixture(t)
	f.server.SetLimits(1, 5, nil)
	refused := 0
	for range 50 {
		if f.Get("/charts").Code == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("%d of 50 requests at once are refused, want those beyond the burst of 5", refused)
	}
}

func BenchmarkCharts(b *testing.B) {
	for _, s := range history.Spans() {
		players := make([]int, s.Steps())
		for i := range players {
			players[i] = i % 37
		}
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(draw(nil, seriesOf(s, players...), s, "").html(nil))))
			}
		})
	}
}
