package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestSearch(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{
		Addr: "192.0.2.1:6500", Rules: []string{"hostname", "Kellergeister LAN", "mapname", "DM-Deck16]["},
		Players: [][]string{{"player_", "score_"}, {"Łukasz", "1"}, {"[BFA] Ann", "2"}},
	})
	f.Put(webtest.Listed{Addr: "198.51.100.7:7777", Game: "gmother", Rules: []string{"hostname", "B"}, Players: [][]string{{"score", "name_"}, {"5", "Zed"}}})
	f.Put(webtest.Listed{Addr: "198.51.100.8:1", Game: "gmother", Rules: []string{"hostname", "C"}, Players: [][]string{{"score_"}, {"Hidden"}}})
	for q, want := range map[string]string{
		"kellergeist": "192.0.2.1:6500", "GEISTER%20lan": "192.0.2.1:6500", "deck16%5D": "192.0.2.1:6500",
		"%C5%81UKASZ": "192.0.2.1:6500", "ukas": "192.0.2.1:6500", "[bfa]": "192.0.2.1:6500", "zed": "198.51.100.7:7777",
		"test%20%3Cgame": "192.0.2.1:6500", "GMOTHER": "198.51.100.8:1 198.51.100.7:7777", "other+game": "198.51.100.8:1 198.51.100.7:7777",
		"198.51.100": "198.51.100.8:1 198.51.100.7:7777", ":7777": "198.51.100.7:7777", "nothing": "", "hidden": "", "lan%0Adm": "",
		"kellergeister lan dm": "", // texts do not run into each other
	} {
		page := f.Page("/servers?q=" + strings.ReplaceAll(q, " ", "%20"))
		var got []string
		for i, row := range cells(t, page) {
			if i > 0 {
				got = append(got, address(row))
			}
		}
		if g := sorted(got); g != sorted(strings.Fields(want)) {
			t.Errorf("q=%s: got %s, want %s", q, g, want)
		}
	}
	webtest.WantParts(t, "a search that finds a player", f.Page("/servers?q=ann"), `<div class="also">with <bdi>[BFA] Ann</bdi></div>`)
	webtest.WantNoParts(t, "a search that finds the server", f.Page("/servers?q=lan"), `class="also"`)
}

func sorted(list []string) string {
	sortBy(list, func(s string) string { return s })
	return strings.Join(list, " ")
}

// A private address is found by visitors that are shown it, and by no others.
func TestSearchPrivateAddress(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Addresses = webtest.Advertised(o.Registry) })
	f.Put(webtest.Listed{Addr: "127.0.0.1:6500", Rules: []string{"hostname", "Here"}})
	for visitor, given := range webtest.Visitors() {
		at := visitor + ":999"
		if strings.Contains(visitor, ":") {
			at = "[" + visitor + "]:999"
		}
		for _, other := range webtest.Visitors() {
			page := f.Ask(at, "/servers?q="+other).Body.String()
			if found := strings.Contains(page, ">Here<"); found != (other == given) {
				t.Errorf("%s, who is shown %s, searches %s: found %v", visitor, given, other, found)
			}
		}
	}
}

func TestCountryFilter(t *testing.T) {
	f := newFixture(t)
	in := func(code string) func(*master.Server) { return func(s *master.Server) { s.Country = code } }
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "German"}, Change: in("DE")})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Rules: []string{"hostname", "Polish"}, Change: in("PL")})
	f.Put(webtest.Listed{Addr: "192.0.2.3:1", Rules: []string{"hostname", "Odd"}, Change: in(`"><b>`)})
	f.Put(webtest.Listed{Addr: "192.0.2.4:1", Rules: []string{"hostname", "Nowhere"}})
	page := f.Page("/servers?country=pl")
	webtest.WantParts(t, "the page", page, ">Polish<", "In Poland.", `<option value="PL" selected>Poland (1)</option>`, `<option value="DE">Germany (1)</option>`,
		`<span class="flag" role="img" aria-label="Poland" title="Poland">🇵🇱</span>`)
	webtest.WantNoParts(t, "the page", page, ">German<", ">Odd<", ">Nowhere<")
	for _, code := range []string{"", "x", "12", "%3Cb%3E", "POL"} {
		if n := len(cells(t, f.Page("/servers?country="+code))) - 1; n != 4 {
			t.Errorf("country=%s: %d servers, want all 4", code, n)
		}
	}
	webtest.WantParts(t, "a country without servers", f.Page("/servers?country=NZ"), "No server matches", "In New Zealand.")
	webtest.WantNoParts(t, "a list without countries", newFixture(t).Page("/servers"), `name="country"`)
}

func TestCountryNames(t *testing.T) {
	names := countryNames()
	if len(names) != 250 {
		t.Errorf("%d lines, want 249 countries and the head", len(names))
	}
	for code, columns := range names {
		for _, name := range columns {
			if name == "" || strings.ContainsAny(name, "\"\r<&") || code != "code" && (!isCountry(code) || flag(code) == "") {
				t.Errorf("country %q is named %q, flag %q", code, name, flag(code))
			}
		}
		if len(columns) != len(names["code"]) {
			t.Errorf("%s has %d columns, want %d", code, len(columns), len(names["code"]))
		}
	}
	for _, l := range lang.All() {
		if got := countryName(l, "DE"); got == "DE" {
			t.Errorf("Germany has no name in %s", l)
		}
	}
	if got := flag("DE"); got != "\U0001F1E9\U0001F1EA" {
		t.Errorf("flag of DE: %q", got)
	}
	for _, bad := range []string{"", "d", "de", "DEU", "D1", "<b"} {
		if flag(bad) != "" {
			t.Errorf("flag(%q): got %q, want none", bad, flag(bad))
		}
	}
}

func TestJoinLinks(t *testing.T) {
	f := newFixture(t)
	if err := f.Catalog.Replace([]games.Game{
		{Name: "gmtest", Secrets: []string{webtest.SecretOne}, Facts: games.Facts{Join: "game://{address}/x"}}, {Name: "gmother"},
	}); err != nil {
		t.Fatal(err)
	}
	f.Put(webtest.Listed{Addr: "192.0.2.1:6500", Rules: []string{"hostname", "Names its port", "hostport", "7777"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:6500", Rules: []string{"hostname", "Only a port for questions"}})
	f.Put(webtest.Listed{Addr: "192.0.2.3:10666", Rules: []string{"hostname", "One port"}, Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
	f.Put(webtest.Listed{Addr: "192.0.2.4:6500", Game: "gmother", Rules: []string{"hostname", "Another game", "hostport", "7777"}})
	f.Put(webtest.Listed{Addr: "192.0.2.5:6500", Rules: []string{"hostname", "Locked", "hostport", "7777", "password", "1"}})
	for target, want := range map[string]string{
		"/servers?q=names":   `href="game://192.0.2.1:7777/x"`,
		"/servers?q=one%20p": `href="game://192.0.2.3:10666/x"`,
		serverPath:           `href="game://192.0.2.1:7777/x"`,
		"/servers?q=only":    "", "/servers?q=another": "", "/servers?q=locked": "", "/servers/qr2-192.0.2.2-6500": "",
	} {
		page := f.Page(target)
		if want == "" {
			webtest.WantNoParts(t, target, page, "game://")
			continue
		}
		webtest.WantParts(t, target, page, want)
	}
}

func TestJoinableFilter(t *testing.T) {
	f := newFixture(t)
	put := func(addr, name string, found master.Findings, natneg bool) {
		f.Put(webtest.Listed{Addr: addr, Rules: []string{"hostname", name}, Change: func(s *master.Server) { s.NATNeg, s.Findings = natneg, found }})
	}
	put("192.0.2.1:6500", "Server-d", master.Findings{Reached: master.ReachedDirect}, false)
	put("192.0.2.2:6500", "Server-n", master.Findings{}, true)
	put("192.0.2.3:6500", "Server-r", master.Findings{Relayed: true}, true)
	put("192.0.2.4:6500", "Server-x", master.Findings{Reached: master.ReachedNo}, false)
	put("192.0.2.5:6500", "Server-u", master.Findings{}, false)
	for query, want := range map[string]string{
		"": "dnrxu", "?joinable=": "dnrxu", "?joinable=direct": "d", "?joinable=negotiated,relayed": "nr", "?joinable=no": "x",
		"?joinable=unknown": "u", "?joinable=direct,negotiated,relayed": "dnr", "?joinable=damaged": "dnrxu",
	} {
		page := f.Page("/servers" + query)
		var got []rune
		for _, letter := range "dnrxu" {
			if strings.Contains(page, "Server-"+string(letter)) {
				got = append(got, letter)
			}
		}
		if string(got) != want {
			t.Errorf("/servers%s: servers %q, want %q", query, string(got), want)
		}
	}
	webtest.WantParts(t, "a link with two ways", f.Page("/servers?joinable=relayed,negotiated"), `value="negotiated,relayed" selected>negotiated or relayed</option>`)
	webtest.WantParts(t, "all that get in", f.Page("/servers?joinable=direct,negotiated,relayed"), `<option value="direct,negotiated,relayed" selected>joinable</option>`)
	webtest.WantParts(t, "the sorted list", f.Page("/servers?joinable=no"), `joinable=no&amp;sort=name`)
}

func TestPlayersPage(t *testing.T) {
	f := newFixture(t)
	webtest.WantParts(t, "an empty list", f.Page("/players"), "No player is online at the moment.")
	for i := range 3 {
		rows := [][]string{{"player_", "score_"}}
		for k := range 30 + i {
			rows = append(rows, []string{fmt.Sprintf("Player %d-%d", i, k), fmt.Sprint(k)})
		}
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:1", i+1), Rules: []string{"hostname", fmt.Sprint("Server ", i), "mapname", "deck"}, Players: rows})
	}
	f.Put(webtest.Listed{Addr: "192.0.2.9:1", Game: "gmother", Players: [][]string{{"name_", "ping"}, {"", "7"}, {"Zed", "8"}}})
	f.Put(webtest.Listed{Addr: "192.0.2.10:1", Rules: []string{"numplayers", "5"}})
	page := f.Page("/players")
	webtest.WantParts(t, "the first page", page, "Players 1 to 95 of 95", "Player 2-0", "Zed", "<i>no name</i>", `href="/servers/qr2-192.0.2.1-1"`, "Server 0")
	webtest.WantParts(t, "the page of a search", f.Page("/players?q=pLAYER+1-1"), "Players 1 to 11 of 11", "Player 1-19")
	webtest.WantParts(t, "a search without a result", f.Page("/players?q=none+of+them"), "No server reports a player of that name")
	for range 2 { // the second round has all of it from the cache
		for i := range 3 {
			f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.3.%d:1", i+1), Players: [][]string{{"player_"}, {fmt.Sprint("More ", i)}, {"Other"}, {"third"}}})
		}
	}
	webtest.WantParts(t, "the first of two pages", f.Page("/players"), "Players 1 to 100 of 104", `href="/players?page=2"`)
	webtest.WantParts(t, "the second page", f.Page("/players?page=2"), "Players 101 to 104 of 104", `href="/players"`)
	webtest.WantParts(t, "a page behind the end", f.Page("/players?page=999999"), "Players 101 to 104 of 104")

	f = newFixture(t)
	f.Put(webtest.Listed{Rules: []string{"numplayers", "5"}})
	webtest.WantParts(t, "servers that name no player", f.Page("/players"), "5 players are online, but no server reports their names.")
}

// A server that names more players than api.MaxNames allows takes no more of the page
// than that.
func TestPlayersPageBound(t *testing.T) {
	f := newFixture(t)
	rows := [][]string{{"player_"}}
	for i := range 2 * api.MaxNames / 10 {
		rows = append(rows, []string{fmt.Sprintf("P%08d", i)})
	}
	f.Put(webtest.Listed{Players: rows})
	webtest.WantParts(t, "the page", f.Page("/players?page=3"), fmt.Sprintf("Players 201 to %[1]d of %[1]d", api.MaxNames/10))
}

func TestAppendText(t *testing.T) {
	if got, want := string(appendText([]byte("x"), `<a href="b">&'</a>`)), "x&lt;a href=&#34;b&#34;&gt;&amp;&#39;&lt;/a&gt;"; got != want {
		t.Errorf("appendText: got %s, want %s", got, want)
	}
	if w := newFixture(t).Get("/players/x"); w.Code != http.StatusNotFound {
		t.Errorf("GET /players/x: got %d, want 404", w.Code)
	}
}
