package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/webtest"
)

// withStats is webtest.NewStats, which it returns too, and the setting for private
// accounts.
func withStats(t testing.TB, private bool) (*fixture, *webtest.Stats) {
	data := webtest.NewStats()
	f := newFixture(t, func(o *Options) {
		o.Stats = data
		o.Accounts.Private = func() bool { return private }
	})
	return f, data
}

// wantTexts checks which texts a page has.
func wantTexts(t *testing.T, what, page string, want, not []string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("%s lacks %q", what, text)
		}
	}
	for _, text := range not {
		if strings.Contains(page, text) {
			t.Errorf("%s has %q", what, text)
		}
	}
}

func TestPlayerPage(t *testing.T) {
	secrets := []string{"<bdi></bdi>", "secret", "private-", "Secretname", "<b>", "<A>"}
	for _, private := range []bool{false, true} {
		f, _ := withStats(t, private)
		ann := f.Get("/players/1")
		if ann.Code != http.StatusOK {
			t.Fatalf("page of Ann: %d", ann.Code)
		}
		wantTexts(t, "page of Ann", ann.Body.String(), []string{
			"<h1><bdi>Ann &lt;b&gt;</bdi></h1>", "<bdi>AnnU</bdi>", `<a href="/games/gmtest"><bdi>Test &lt;game&gt;</bdi></a>`,
			`<bdi>Most &lt;kills&gt;</bdi></span></th><td class="num">2</td><td class="num">12.5</td><td class="desktop">2 January 2026</td>`,
			"<bdi>clan</bdi></th><td><bdi>The &lt;A&gt;-Team</bdi>", "9 bytes that only the game can read", "Data 7 of the game, 2 January 2026: empty.", "Data -2 of the game, 2 January 2026: <bdi>plain text</bdi>",
		}, secrets)
		ben := f.Get("/players/2").Body.String()
		wantTexts(t, "page of Ben", ben, []string{`<td class="num">30</td>`, "<bdi>best</bdi>"}, secrets)

		for id, nick := range map[int]string{3: "Cid", 4: "Dan"} {
			w := f.Get(fmt.Sprint("/players/", id))
			if private {
				if unknown := f.Get("/players/99"); w.Code != http.StatusNotFound || w.Body.String() != unknown.Body.String() {
					t.Errorf("private page of %s: %d, want the answer for an unknown player", nick, w.Code)
				}
				continue
			}
			wantTexts(t, "page of "+nick, w.Body.String(), []string{nick, "No game keeps public data"}, secrets)
		}
		for _, id := range []string{"0", "99", "-1", "x", "1x", "4294967297", "2147483648"} {
			if w := f.Get("/players/" + id); w.Code != http.StatusNotFound {
				t.Errorf("player %s: got %d, want 404", id, w.Code)
			}
		}
	}
	if w := newFixture(t).Get("/players/1"); w.Code != http.StatusNotFound {
		t.Errorf("without statistics: got %d, want 404", w.Code)
	}
}

func TestPlayerPage_bounds(t *testing.T) {
	racetest.Skip(t, "renders megabytes")
	f, data := withStats(t, false)
	for i := range maxPlayerBlocks + 20 {
		var pairs strings.Builder
		for k := range maxBlockPairs + 20 {
			fmt.Fprintf(&pairs, `\key%d\%s`, k, strings.Repeat("v", 1000))
		}
		data.Blocks = append(data.Blocks, storage.StatBlock{
			StatBlockID: storage.StatBlockID{Game: "unknowngame", Profile: 4, Kind: storage.StatPublicWrite, Index: int32(i)}, Data: []byte(pairs.String()),
		})
	}
	page := f.Get("/players/4").Body.String()
	wantTexts(t, "large page", page, []string{"<h2><bdi>unknowngame</bdi></h2>", "Data 99 of", "key99", "Further data are not shown"}, []string{"Data 100 of", "key100"})
	if len(page) > 5<<20 {
		t.Errorf("page of %d bytes", len(page))
	}
	data.Err = errors.New("disk on fire")
	if w := f.Get("/players/1"); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "fire") {
		t.Errorf("unreadable: got %d, want 500 without the reason", w.Code)
	}
}

func TestGamePageBoards(t *testing.T) {
	f, data := withStats(t, true)
	for i := range 20 {
		id := storage.ProfileID(i + 10)
		data.Profiles[id] = storage.Profile{ID: id, Nick: fmt.Sprint("Player", i)}
		data.Scores = append(data.Scores, storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "best", Profile: id}, Value: float64(-i)})
	}
	wantTexts(t, "page of the game", f.Get("/games/gmtest").Body.String(), []string{
		"Best players", "<caption><bdi>Most &lt;kills&gt;</bdi></caption>", `<a href="/players/1"><bdi>Ann &lt;b&gt;</bdi></a>`,
		`<a href="/api/v1/games/gmtest/ranking?board=best">`, "Player8<",
	}, []string{"Player9<"})
	wantTexts(t, "page of the game", f.Get("/games/gmtest").Body.String(), []string{
		"Last matches", `<a href="/players/1"><bdi>Ann &lt;b&gt;</bdi></a> win, <bdi>guest</bdi> loss`, "agreed", "2026-01-02 03:04",
	}, nil)
	wantTexts(t, "page of another game", f.Get("/games/gmother").Body.String(), nil, []string{"Best players", "Last matches"})
	f, data = withStats(t, false)
	data.Err = errors.New("disk on fire")
	wantTexts(t, "page without a readable ranking", f.Get("/games/gmtest").Body.String(), []string{"How to connect"}, []string{"Best players", "fire"})
}

// TestPlayingNow shows where a profile plays, if the server checks who its players are.
func TestPlayingNow(t *testing.T) {
	f, _ := withStats(t, false)
	checks := *qr2.Origin
	checks.Name, checks.Profiles = "checks", true
	for i, origin := range []*master.Origin{&checks, qr2.Origin} {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 6500)
		s := master.Server{Origin: origin, Key: master.Key{Source: at}, Public: at, Game: "gmtest", Seen: time.Now()}
		var r master.Report
		r.Fill(f.Registry, []string{"hostname"}, []string{origin.Name + " server"}, master.Grid{Columns: []string{"player_", "pid_"}, Rows: [][]string{{"Ann", "1"}, {"Eve", "x"}}}, master.Grid{})
		if err := r.Into(&s); err != nil {
			t.Fatal(err)
		}
		if err := f.Registry.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	const now = "Playing now: "
	page := f.Get("/players/1").Body.String()
	wantTexts(t, "the page of a player", page, []string{now, "<bdi>checks server</bdi>"}, []string{"qr2 server"})
	wantTexts(t, "the page of another one", f.Get("/players/2").Body.String(), nil, []string{now})
}
