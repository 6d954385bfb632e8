package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/web/webtest"
)

// A search finds the same rows as a comparison of every row.
func TestSearchOfManyServers(t *testing.T) {
	f := newFixture(t)
	f.FillReal(300)
	f.Put(webtest.Listed{Addr: "192.0.2.77:7777", Rules: []string{"hostname", "Needle"}, Players: [][]string{{"player_"}, {"Ann"}, {"Bob"}}})
	f.Put(webtest.Listed{Addr: "192.168.7.7:7778", Rules: []string{"hostname", "Private"}})
	s := f.api.Snapshot()
	for _, text := range []string{"needle", "NEEDLE", "ann", "annb", "bob\ngm", "7777", "7778", "a", "e", ".", "no such text", "192.168.7.7:7778", "é", "number 29"} {
		for _, order := range []Order{ByGame, ByPlayers} {
			var want []*Row
			for _, r := range s.Choose("", "", order) {
				lower := strings.ToLower(text)
				if strings.Contains(r.found.texts, lower) || inAddress(lower) && strings.Contains(r.Public.String(), lower) {
					want = append(want, r)
				}
			}
			if got := s.Search("", text, order, advertise.Asker{}); !slices.Equal(got, want) {
				t.Errorf("Search(%q) finds %d servers, want %d", text, len(got), len(want))
			}
		}
	}
}

// A text that contains the search is never ruled out.
func FuzzGrams(f *testing.F) {
	f.Add("name of a server\nde_dust\n", 3, 9)
	f.Add("", 0, 0)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || from > to || to > len(text) {
			return
		}
		var all, part grams
		all.add(text)
		part.add(text[from:to])
		if !all.mayHave(&part) {
			t.Errorf("%q is ruled out of %q", text[from:to], text)
		}
	})
}

func TestGramsRuleOut(t *testing.T) {
	var text, part grams
	text.add("server number 17 \x00 dm-deck16\nunreal tournament\n")
	out := 0
	for i := range 1000 {
		part = grams{}
		part.add(fmt.Sprint("zq", i))
		if !text.mayHave(&part) {
			out++
		}
	}
	if out < 900 {
		t.Errorf("%d of 1000 texts that it does not have are ruled out, want most", out)
	}
}

func TestServersAtAnAddress(t *testing.T) {
	f := newFixture(t)
	for i := range 4 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:1", i/2), Rules: []string{"hostname", fmt.Sprint(i)}})
	}
	f.Put(webtest.Listed{Addr: "192.0.2.1:2"})
	s := f.api.Snapshot()
	for _, addr := range []string{"192.0.2.0", "192.0.2.1", "192.0.2.9", "2001:db8::1"} {
		a, want := netip.MustParseAddr(addr), 0
		for _, r := range s.Rows {
			if r.Public.Addr() == a || r.Key.Source.Addr() == a {
				want++
			}
		}
		if got := len(s.At(a)); got != want {
			t.Errorf("At(%s) = %d servers, want %d", addr, got, want)
		}
	}
	six := netip.MustParseAddr("2001:db8::1")
	for _, r := range s.Rows { // as if they had the same mark
		r.brief.public = markOf(six)
	}
	if got := s.At(six); len(got) != 0 {
		t.Errorf("an address with the same mark was found: %v", got)
	}
}

func BenchmarkSearch50000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(50_000)
	s := f.api.Snapshot()
	for name, text := range map[string]string{"rare": "map3x", "digits": "31337", "every": "e"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Search("", text, ByGame, advertise.Asker{})
			}
		})
	}
}
