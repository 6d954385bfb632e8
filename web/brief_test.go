package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestDayView(t *testing.T) {
	var away, idle, one, half, busy dayView
	for i := range away {
		away[i] = history.Away
		half[i] = history.Away
		busy[i] = i * 100
	}
	one[23], half[12], half[13], half[23] = 1, 16, 16, 8
	for name, c := range map[string]struct {
		of   dayView
		want string
	}{
		"not listed":        {away, ""},
		"without players":   {idle, ""},
		"one player now":    {one, "M0 9H23V6H24V9"},
		"from noon, a rest": {half, "M0 9H12V0H14V9H23V4H24V9"},
	} {
		got := string(c.of.append(nil))
		if c.want != "" {
			c.want = `<svg class="day" viewBox="0 0 24 9" aria-hidden="true"><path d="` + c.want + `"/></svg>`
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if n := len(busy.append(nil)); n > 170 {
		t.Errorf("a chart takes %d bytes", n)
	}
}

// week lists servers of two games, and samples them for four days; the last one is new.
func (f *fixture) week(now time.Time) {
	for i := range 4 {
		if i == 3 {
			f.hours(now.Add(-96*time.Hour), now.Add(-24*time.Hour))
		}
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:6500", i), Game: []string{"gmtest", "gmother"}[i%2], Rules: []string{"hostname", "Server", "numplayers", fmt.Sprint(i), "maxplayers", "8"}})
	}
	f.hours(now.Add(-24*time.Hour), now)
}

// hours takes a sample every hour.
func (f *fixture) hours(from, to time.Time) {
	for at := from; at.Before(to); at = at.Add(time.Hour) {
		f.sample(at)
	}
}

func TestListShowsTheLastDay(t *testing.T) {
	f := newFixture(t)
	before := f.Get("/servers").Body.String()
	f.week(time.Now())
	page := f.Get("/servers").Body.String()
	webtest.CheckFit(t, page)
	if n := strings.Count(page, `class="day"`); n != 3 {
		t.Errorf("%d of 3 servers with players have a chart", n)
	}
	if n := strings.Count(page, `<span class="tag new" title="new since `); n != 1 {
		t.Errorf("%d servers are new, want 1", n)
	}
	if strings.Contains(before, "tag new") {
		t.Error("a server is new without a history")
	}
}

// A page is written again when the history changes, although the list is the same.
func TestListIsWrittenAgainAfterASample(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:6500", Rules: []string{"hostname", "Server", "numplayers", "3", "maxplayers", "8"}})
	tag := f.Get("/servers").Header().Get("ETag")
	if w := f.Ask("192.0.2.9:1000", "/servers", "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Fatalf("before a sample: got %d", w.Code)
	}
	f.sample(time.Now())
	if w := f.Ask("192.0.2.9:1000", "/servers", "If-None-Match", tag); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `class="day"`) {
		t.Errorf("after a sample: got %d", w.Code)
	}
}

func TestServerShowsItsWeek(t *testing.T) {
	f := newFixture(t)
	f.week(time.Now())
	for id, want := range map[string][]string{
		"qr2-192.0.2.0-6500": {"Uptime of the week", "<dd>100 % of 96 h</dd>"},
		"qr2-192.0.2.1-6500": {"Rank of the week, by players", "<dd>1 of 2</dd>", "<dd>100 % of 96 h</dd>"},
		"qr2-192.0.2.3-6500": {"<dd>2 of 2</dd>", "<dd>100 % of 24 h</dd>", "New since"},
	} {
		webtest.WantParts(t, id, f.Get("/servers/"+id).Body.String(), want...)
	}
	webtest.WantParts(t, "JSON", f.Get("/api/v1/servers/qr2-192.0.2.1-6500").Body.String(), `"week":{"rank":1,"ranked":2,"uptime":100,"hours":96}`)
	webtest.WantNoParts(t, "without players", f.Get("/servers/qr2-192.0.2.0-6500").Body.String(), "Rank", "New since")
}
