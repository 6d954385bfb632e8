package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/nwmaster"
	"github.com/respawnd/respawnd/odamaster"
	"github.com/respawnd/respawnd/q2master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/qwmaster"
	"github.com/respawnd/respawnd/theater"
	"github.com/respawnd/respawnd/torquemaster"
	"github.com/respawnd/respawnd/tribesmaster"
	"github.com/respawnd/respawnd/utmaster"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now().Truncate(time.Second)
		f := newFixture(t)
		f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"numplayers", "3"}})
		f.Put(webtest.Listed{Addr: "192.0.2.2:1", Rules: []string{"numplayers", "4"}})
		f.Put(webtest.Listed{Addr: "192.0.2.3:1", Game: "gmother", Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
		time.Sleep(90 * time.Second)
		want := statsJSON{
			Version: "1.2.3", Started: began.UTC(), Uptime: 90, Servers: 3, Players: 7,
			Games:   []gameTotals{{"gmother", "Other game", 1, 0}, {"gmtest", "Test <game>", 2, 7}},
			Origins: []originTotals{{"qr2", 2, 7}, {"zandronum", 1, 0}},
		}
		if diff := cmp.Diff(want, webtest.Decode[statsJSON](t, f.Get("/api/v1/stats").Body)); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

// TestStatsOfEveryOrigin lists a server of each origin.
func TestStatsOfEveryOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		origins := master.Origins{
			qr2.Origin, qr2.OldOrigin, zanmaster.Origin, valvemaster.Origin, master.Found, master.Static, q3master.Origin, master.Federated, utmaster.Origin,
			idmaster.Origin, codmaster.Origin, nwmaster.Origin,
			{Name: "new"},
			odamaster.Origin, q2master.Origin, qwmaster.Origin, theater.Origin, torquemaster.Origin, tribesmaster.Origin,
		}
		for i, o := range origins {
			f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:6500", i+1), Change: func(s *master.Server) { s.Origin = o }})
		}
		got := webtest.Decode[statsJSON](t, f.Get("/api/v1/stats").Body)
		for i, o := range origins {
			if i >= len(got.Origins) || got.Origins[i] != (originTotals{o.Name, 1, 0}) {
				t.Errorf("origins %+v, want one server of %s at %d", got.Origins, o, i)
			}
		}
	})
}

func TestStatsEmpty(t *testing.T) {
	got := webtest.Decode[statsJSON](t, newFixture(t).Get("/api/v1/stats").Body)
	if got.Games == nil || got.Origins == nil {
		t.Errorf("stats of an empty list: got %+v, want empty arrays", got)
	}
}

func TestGameHosts(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Domains = []string{"example.org", "gamespy.com", "no domain"} })
	f.Put(webtest.Listed{Rules: []string{"numplayers", "3"}})
	for _, target := range []string{"/api/v1/games/gmtest", "/api/v1/games/GMTest"} {
		g := webtest.Decode[gameDetails](t, f.Get(target).Body)
		if g.Name != "gmtest" || g.Servers != 1 || g.Players != 3 || g.QueryPort != 25000 {
			t.Errorf("GET %s: got %+v", target, g.gameJSON)
		}
		domains, seen := map[string]int{}, map[string]bool{}
		for _, h := range g.Hosts {
			if seen[h.Name] {
				t.Errorf("the host %s is there twice", h.Name)
			}
			seen[h.Name] = true
			domains[h.Domain]++
		}
		if !seen["gmtest.available.example.org"] || !seen["gmtest.master.gamespy.com"] || seen["natneg1.gamespy.com"] || len(domains) != 2 {
			t.Errorf("GET %s: hosts %v under %v, want those of both domains", target, seen, domains)
		}
	}
	for _, name := range []string{"nosuch", "%1b%5b31m", "..%2fgames", "gm test"[:2] + "%20test"} {
		if w := f.Get("/api/v1/games/" + name); w.Code != http.StatusNotFound {
			t.Errorf("GET /api/v1/games/%s: got %d, want 404", name, w.Code)
		}
	}
}

// historyJSON is a history as a tool reads it.
type historyJSON struct {
	ID       string  `json:"id"`
	Game     string  `json:"game"`
	Span     string  `json:"span"`
	Interval int     `json:"interval_seconds"`
	First    *string `json:"first"`
	Players  []*int  `json:"players"`
	Servers  []*int  `json:"servers"`
	Kept     []struct {
		Span     string  `json:"span"`
		Interval int     `json:"interval_seconds"`
		Since    *string `json:"since"`
	} `json:"kept"`
}

// numbers writes numbers with spaces between them, - for null.
func numbers(list []*int) string {
	var out []string
	for _, n := range list {
		if n == nil {
			out = append(out, "-")
		} else {
			out = append(out, strconv.Itoa(*n))
		}
	}
	return strings.Join(out, " ")
}

func TestHistory(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, _ *webtest.Pipes, _ func() time.Duration) {
		const target = "/api/v1/servers/qr2-192.0.2.1-6500/history"
		synctest.Wait() // for the sample at the start
		key := f.Put(webtest.Listed{Rules: []string{"numplayers", "3"}})
		tag := f.Get(target).Header().Get("ETag")
		if got := webtest.Decode[historyJSON](t, f.Get(target).Body); got.First != nil || len(got.Players) != 0 || got.Players == nil {
			t.Errorf("before the first sample: got %+v, want an empty history", got)
		}
		wait := func() { time.Sleep(history.Interval); synctest.Wait() }
		wait()
		first := time.Now().Truncate(history.Interval).UTC().Format(time.RFC3339)
		f.Registry.Remove(key)
		wait()
		f.Put(webtest.Listed{Players: [][]string{{"player_"}, {"a"}}})
		wait()
		w := f.Get(target, "If-None-Match", tag)
		text := w.Body.String()
		got := webtest.Decode[historyJSON](t, w.Body)
		if got.ID != "qr2-192.0.2.1-6500" || got.Interval != 300 || got.First == nil || *got.First != first ||
			len(got.Players) != 3 || *got.Players[0] != 3 || got.Players[1] != nil || *got.Players[2] != 1 {
			t.Errorf("got %s, want 3, null, 1 from %s", text, first)
		}
		if w := f.Get(target, "If-None-Match", w.Header().Get("ETag")); w.Code != http.StatusNotModified {
			t.Errorf("with its tag: got %d, want 304", w.Code)
		}
		s, _ := f.Registry.Find(addr("192.0.2.1:6500"))
		f.Registry.Remove(s.Key)
		if w := f.Get(target); w.Code != http.StatusOK {
			t.Errorf("of a server that left: got %d, want 200", w.Code)
		}
		f.Registry.Hide(s.Public)
		if w := f.Get(target); w.Code != http.StatusNotFound {
			t.Errorf("of a server that an operator hid: got %d, want 404", w.Code)
		}
		f.Registry.Unhide(s.Public)
		for _, other := range []string{"zandronum-192.0.2.1-6500", "qr2-192.0.2.2-6500", "x"} {
			if w := f.Get("/api/v1/servers/" + other + "/history"); w.Code != http.StatusNotFound {
				t.Errorf("of %s: got %d, want 404", other, w.Code)
			}
		}
	})
}

func TestHistorySpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		began := time.Now() // midnight
		for i, n := range []string{"3", "8", "2"} {
			f.Put(webtest.Listed{Rules: []string{"numplayers", n}})
			if i == 1 {
				f.Put(webtest.Listed{Addr: "192.0.2.9:1", Game: "gmother", Rules: []string{"numplayers", "5"}})
			}
			f.api.sampleNow(began.Add(time.Duration(i) * 45 * time.Minute))
		}
		const one, all = "/api/v1/servers/qr2-192.0.2.1-6500/history", "/api/v1/stats/history"
		gap := " - - - - - - - - "
		for target, want := range map[string]struct {
			interval         int
			players, servers string
		}{
			one:                            {300, "3" + gap + "8" + gap + "2", ""},
			one + "?span=24h":              {300, "3" + gap + "8" + gap + "2", ""},
			one + "?span=7d":               {3600, "8 2", ""},
			one + "?span=30d":              {14400, "8", ""},
			all:                            {300, "3" + gap + "13" + gap + "7", "1" + gap + "2" + gap + "2"},
			all + "?span=7d":               {3600, "13 7", "2 2"},
			all + "?span=30d":              {14400, "13", "2"},
			all + "?game=gmtest&span=7d":   {3600, "8 2", "1 1"},
			all + "?game=GMOther&span=30d": {14400, "5", "1"},
			all + "?game=gmquiet":          {300, "", ""},
			all + "?game=nosuch&span=30d":  {14400, "", ""},
			all + "?game=":                 {300, "3" + gap + "13" + gap + "7", "1" + gap + "2" + gap + "2"},
		} {
			w := f.Get(target)
			text := w.Body.String()
			got := webtest.Decode[historyJSON](t, w.Body)
			if w.Code != http.StatusOK || got.Interval != want.interval || numbers(got.Players) != want.players || numbers(got.Servers) != want.servers || len(got.Kept) != 3 {
				t.Errorf("GET %s: got %d %s, want %+v", target, w.Code, text, want)
				continue
			}
			for i, step := range []int{300, 3600, 14400} {
				k := got.Kept[i]
				if k.Interval != step || k.Span != history.Spans()[i].String() || (k.Since == nil) != (want.players == "") {
					t.Errorf("GET %s: kept %+v, want steps of %d s", target, k, step)
				}
			}
			if want.players != "" && strings.HasPrefix(target, one) && *got.Kept[0].Since != began.UTC().Format(time.RFC3339) {
				t.Errorf("GET %s: kept since %s, want %v", target, *got.Kept[0].Since, began)
			}
			if again := f.Get(target, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
				t.Errorf("GET %s with its tag: got %d, want 304", target, again.Code)
			}
		}
		for _, target := range []string{one + "?span=1y", all + "?span=", all + "?game=a%20b", all + "?from=1"} {
			if w := f.Get(target); w.Code != http.StatusBadRequest {
				t.Errorf("GET %s: got %d, want 400", target, w.Code)
			}
		}
	})
}
