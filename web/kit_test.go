package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/web/webtest"
)

// A LAN party gets one script for the games that it names as its players call them.
func TestSeveralGames(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Domains = []string{"gamespy.com"} })
	page := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect?several=GMTEST,+no+such+game,,gmtest").Body.String()
	webtest.WantParts(t, "the page", page, `href="/games/gmtest"`, `<bdi>no such game</bdi>: No game has that name or title.`,
		`href="/games/hosts.txt?game=gmtest"`, `href="/games/hosts.bat?game=gmtest"`, `href="/games/hosts.sh?game=gmtest"`)
	page = f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect?several="+strings.Repeat("x,", mostTogether+2)).Body.String()
	webtest.WantParts(t, "too many", page, "2 more are not shown.")
	webtest.WantNoParts(t, "too many", page, "hosts.txt")
	page = f.from("198.51.100.9:4000", "203.0.113.5:8080", "/connect?several=gmtest").Body.String()
	webtest.WantParts(t, "the page for a stranger", page, `href="/games/hosts.txt?game=gmtest"`)
	webtest.WantNoParts(t, "the page for a stranger", page, "hosts.bat", "hosts.sh")
	for target, code := range map[string]int{
		"/games/hosts.txt?game=gmtest&game=gmother":                          http.StatusOK,
		"/games/hosts.txt":                                                   http.StatusNotFound,
		"/games/hosts.txt?game=gmtest&game=none":                             http.StatusNotFound,
		"/games/hosts.txt?" + strings.Repeat("game=gmtest&", mostTogether+1): http.StatusNotFound,
	} {
		w := f.from("192.168.1.9:4000", "192.168.1.5:8080", target)
		if w.Code != code {
			t.Errorf("GET %s: got %d, want %d", target, w.Code, code)
		}
		if code == http.StatusOK {
			webtest.WantParts(t, target, w.Body.String(), "192.168.1.5 gmtest.master.gamespy.com\r\n", "192.168.1.5 gmother.master.gamespy.com\r\n")
			webtest.WantParts(t, target, w.Header().Get("Content-Disposition"), "hosts-games.txt")
		}
	}
}

// Players say what they call a game, which can be the short name of another one.
func TestSeveralGamesAsPlayersCallThem(t *testing.T) {
	f := newFixture(t)
	if err := f.Catalog.Replace([]games.Game{{Name: "halo", Title: "Halo Beta"}, {Name: "halor", Title: "Halo: Combat Evolved", Facts: games.Facts{Called: []string{"halo"}}}}); err != nil {
		t.Fatal(err)
	}
	page := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/connect?several=halo").Body.String()
	webtest.WantParts(t, "halo", page, `<a href="/games/halor"><bdi>Halo: Combat Evolved</bdi></a>`, "hosts.txt?game=halor")
}

func TestHostsScripts(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Domains = []string{"gamespy.com"} })
	page := f.from("192.168.1.9:4000", "192.168.1.5:8080", "/games/gmtest?ip=192.168.1.7").Body.String()
	webtest.WantParts(t, "the page for a neighbour", page, `href="/games/gmtest/hosts.bat?ip=192.168.1.7"`, `href="/games/gmtest/hosts.sh?ip=192.168.1.7"`)
	page = f.from("198.51.100.9:4000", "203.0.113.5:8080", "/games/gmtest").Body.String()
	webtest.WantNoParts(t, "the page for a stranger", page, "hosts.bat", "hosts.sh")
	for name, tc := range map[string]struct {
		peer, target string
		code         int
	}{
		"neighbour":    {"192.168.1.9:4000", "/games/gmtest/hosts.sh", http.StatusOK},
		"Windows":      {"192.168.1.9:4000", "/games/gmtest/hosts.bat", http.StatusOK},
		"stranger":     {"198.51.100.9:4000", "/games/gmtest/hosts.sh", http.StatusForbidden},
		"bad address":  {"192.168.1.9:4000", "/games/gmtest/hosts.sh?ip=1.2.3", http.StatusBadRequest},
		"command":      {"192.168.1.9:4000", "/games/gmtest/hosts.sh?ip=%60id%60", http.StatusBadRequest},
		"IPv6":         {"192.168.1.9:4000", "/games/gmtest/hosts.bat?ip=::1", http.StatusBadRequest},
		"no such game": {"192.168.1.9:4000", "/games/none/hosts.sh", http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := f.from(tc.peer, "192.168.1.5:8080", tc.target)
			if w.Code != tc.code {
				t.Fatalf("GET %s: got %d, want %d", tc.target, w.Code, tc.code)
			}
			if tc.code == http.StatusOK {
				webtest.WantParts(t, tc.target, w.Body.String(), "192.168.1.5 gmtest.master.gamespy.com # respawnd gmtest;")
				webtest.WantParts(t, tc.target, w.Header().Get("Content-Disposition"), "attachment", "hosts-gmtest.")
			}
		})
	}
}
