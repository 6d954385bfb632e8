package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestOrder(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	for _, s := range []struct {
		addr, game, name, players string
		age                       time.Duration
	}{
		{"192.0.2.1:1", "gmtest", "beta", "5", 3 * time.Hour},
		{"192.0.2.2:1", "gmother", "Alpha", "5", time.Hour},
		{"192.0.2.3:1", "gmtest", "ALPHA", "9", 2 * time.Hour},
		{"192.0.2.4:1", "gmother", "ähre", "0", 4 * time.Hour},
	} {
		f.Put(webtest.Listed{
			Addr: s.addr, Game: s.game, Rules: []string{"hostname", s.name, "numplayers", s.players},
			Change: func(m *master.Server) { m.First = now.Add(-s.age) },
		})
	}
	for query, want := range map[string]string{
		"":                         "2 4 3 1",
		"sort=game":                "2 4 3 1",
		"sort=players":             "3 1 2 4",
		"sort=name":                "2 3 1 4",
		"sort=added":               "2 3 1 4",
		"sort=players&game=gmtest": "3 1",
		"sort=name&q=alpha":        "2 3",
		"sort=added&game=nosuch":   "",
	} {
		var got []string
		for _, s := range f.List("/api/v1/servers?" + query).Servers {
			got = append(got, strings.TrimPrefix(s.Host, "192.0.2."))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("GET ?%s: got %q, want %q", query, strings.Join(got, " "), want)
		}
	}
}

func TestCursorWalk(t *testing.T) {
	f := newFixture(t)
	const n = 25
	for i := range n {
		f.Put(webtest.Listed{
			Addr: fmt.Sprintf("192.0.2.%d:6500", i), Game: []string{"gmtest", "gmother"}[i%2],
			Rules:  []string{"numplayers", fmt.Sprint(i % 3), "hostname", strings.Repeat("Ä~", 40*(i%2)) + fmt.Sprint(i%5)},
			Change: func(s *master.Server) { s.First = s.Seen.Add(-time.Duration(i%4) * time.Hour) },
		})
	}
	for _, sort := range orderNames() {
		whole := webtest.Addresses(f.List("/api/v1/servers?sort=" + sort))
		for _, limit := range []int{1, 7, 24, 25, 26} {
			var got []string
			target, pages := fmt.Sprintf("/api/v1/servers?sort=%s&limit=%d", sort, limit), 0
			for next := ""; ; pages++ {
				l := f.List(target + next)
				if l.Total != n {
					t.Errorf("%s, limit %d: total %d, want %d", sort, limit, l.Total, n)
				}
				got = append(got, webtest.Addresses(l))
				if l.Next == "" {
					break
				}
				next = "&cursor=" + url.QueryEscape(l.Next)
			}
			if walked := strings.Join(got, " "); walked != whole {
				t.Errorf("%s, limit %d: got %q, want %q", sort, limit, walked, whole)
			}
			if want := (n - 1) / limit; pages != want {
				t.Errorf("%s, limit %d: %d further pages, want %d", sort, limit, pages, want)
			}
		}
	}
}

func TestOrderMatchesPlaces(t *testing.T) {
	f := newFixture(t)
	f.FillReal(200)
	list := f.api.lister.now()
	byPosition := func(o Order) func(a, b *Row) int {
		return func(a, b *Row) int { return comparePositions(positionOf(o, a), positionOf(o, b)) }
	}
	for o := range Order(len(orderNames())) {
		if !slices.IsSortedFunc(list.inOrder(o), byPosition(o)) {
			t.Errorf("rows in order %s are not in the order of their positions", orderNames()[o])
		}
	}
}
