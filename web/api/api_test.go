package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestServerJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		start := time.Now().UTC()
		key := f.Put(webtest.Listed{
			Rules: []string{
				"localip0", "192.168.1.5", "LocalPort", "6500", "publicip", "16777343", "publicport", "6500", "natneg", "1",
				"hostname", `The "Inn" \ <b>`, "hostport", "7777", "mapname", "DM-Deck", "gametype", "dm",
				"numplayers", "3", "maxplayers", "16", "password", "1", "motd", "über",
			},
			Players: [][]string{{"player_", "score_"}, {"Zoë", "12"}, {`"x"`, "-1"}},
			Teams:   [][]string{{"team_t"}, {"Red"}},
			Change: func(s *master.Server) {
				s.NATNeg, s.Country, s.Region = true, "NZ", "7"
				s.Findings.Reached = master.ReachedDirect
				s.Via = netip.MustParseAddr("10.1.2.3")
				s.Local = []netip.AddrPort{netip.MustParseAddrPort("192.168.1.5:6500")}
			},
		})
		time.Sleep(20 * time.Second)
		f.Registry.Touch(key, qr2.Origin, time.Now())

		port := 7777
		want := webtest.ServerJSON{
			ID: "qr2-192.0.2.1-6500", Game: "gmtest", Title: "Test <game>", Origin: "qr2", Query: "gs3", Name: `The "Inn" \ <b>`,
			Address: "192.0.2.1:6500", Host: "192.0.2.1", Port: 6500, GamePort: &port, Map: "DM-Deck", Type: "dm",
			Players: 3, MaxPlayers: 16, Password: true, Country: "NZ", Region: "7", Reachable: true, Reached: "direct", Joinable: "direct", NATNeg: true,
			First: start.Format(time.RFC3339), Last: start.Add(20 * time.Second).Format(time.RFC3339),
			Rules: map[string]string{
				"natneg": "1", "hostname": `The "Inn" \ <b>`, "hostport": "7777", "mapname": "DM-Deck", "gametype": "dm",
				"numplayers": "3", "maxplayers": "16", "password": "1", "motd": "über",
			},
		}
		if diff := cmp.Diff(webtest.ListJSON{Count: 1, Total: 1, Servers: []webtest.ServerJSON{want}}, f.List("/api/v1/servers")); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		want.PlayerList = []map[string]string{{"player_": "Zoë", "score_": "12"}, {"player_": `"x"`, "score_": "-1"}}
		want.TeamList = []map[string]string{{"team_t": "Red"}}
		if diff := cmp.Diff([]webtest.ServerJSON{want}, f.List("/api/v1/servers?full=1").Servers); diff != "" {
			t.Errorf("full list (-want +got):\n%s", diff)
		}
		w := f.Get("/api/v1/servers/" + want.ID)
		if diff := cmp.Diff(want, webtest.Decode[webtest.ServerJSON](t, w.Body)); diff != "" {
			t.Errorf("single server (-want +got):\n%s", diff)
		}
	})
}

func TestListEmpty(t *testing.T) {
	f := newFixture(t)
	if got, want := f.Get("/api/v1/servers").Body.String(), `{"count":0,"total":0,"servers":[]}`+"\n"; got != want {
		t.Errorf("empty list: got %q, want %q", got, want)
	}
	if got, want := f.Get("/api/v1/games?active=1").Body.String(), "[]\n"; got != want {
		t.Errorf("no active games: got %q, want %q", got, want)
	}
}

func TestOddNumbers(t *testing.T) {
	tests := map[string]struct {
		rules        []string
		rows         int
		players, max int
		port         int
		password     bool
	}{
		"nothing said":          {},
		"players from the list": {rows: 2, players: 2},
		"negative":              {rules: []string{"numplayers", "-3", "maxplayers", "-1", "hostport", "-1"}, rows: 1, players: 1},
		"largest":               {rules: []string{"numplayers", "9999", "maxplayers", "9999", "hostport", "65535"}, players: 9999, max: 9999, port: 65535},
		"too large":             {rules: []string{"numplayers", "10000", "maxplayers", "10000", "hostport", "65536"}},
		"no numbers":            {rules: []string{"numplayers", "x", "maxplayers", "", "hostport", "port"}},
		"zero port":             {rules: []string{"hostport", "0"}},
		"password as a word":    {rules: []string{"password", "True"}, password: true},
		"no password":           {rules: []string{"password", "0"}},
		"password is nonsense":  {rules: []string{"password", "geheim"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			table := [][]string{{"player_"}}
			for range tc.rows {
				table = append(table, []string{"p"})
			}
			f.Put(webtest.Listed{Rules: tc.rules, Players: table})
			s := f.List("/api/v1/servers").Servers[0]
			port := 0
			if s.GamePort != nil {
				port = *s.GamePort
			}
			got := fmt.Sprint(s.Players, s.MaxPlayers, port, s.Password)
			if want := fmt.Sprint(tc.players, tc.max, tc.port, tc.password); got != want {
				t.Errorf("players, max_players, game_port, password: got %s, want %s", got, want)
			}
		})
	}
}

func TestListFilters(t *testing.T) {
	f := newFixture(t)
	add := func(addr, game, players, name, area string) {
		f.Put(webtest.Listed{Addr: addr, Game: game, Rules: []string{"hostname", name, "mapname", area, "numplayers", players}})
	}
	add("192.0.2.9:1", "gmtest", "5", "Alpha", "deck")
	add("192.0.2.1:2", "gmtest", "5", "Beta", "DECK16")
	add("192.0.2.1:1", "gmtest", "5", "ÄPFEL", "hall")
	add("192.0.2.3:1", "gmtest", "20", "100% real", "hall")
	add("192.0.2.4:1", "gmother", "1", "deckhand", "hall")
	add("[2001:db8::1]:9", "gmother", "1", "six", "hall")
	tests := map[string]struct {
		query string
		want  string
	}{
		"all":              {"", "192.0.2.4:1 [2001:db8::1]:9 192.0.2.3:1 192.0.2.1:1 192.0.2.1:2 192.0.2.9:1"},
		"game":             {"game=gmother", "192.0.2.4:1 [2001:db8::1]:9"},
		"game, upper case": {"game=GMother", "192.0.2.4:1 [2001:db8::1]:9"},
		"empty game":       {"game=&limit=1", "192.0.2.4:1"},
		"unknown game":     {"game=nosuch", ""},
		"text":             {"q=DeCk", "192.0.2.4:1 192.0.2.1:2 192.0.2.9:1"},
		"text in a game":   {"q=deck&game=gmtest", "192.0.2.1:2 192.0.2.9:1"},
		"text, not ASCII":  {"q=%C3%A4pf", "192.0.2.1:1"},
		"text, percent":    {"q=0%25", "192.0.2.3:1"},
		"text, plus":       {"q=0%25+r", "192.0.2.3:1"},
		"no such text":     {"q=zzz", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := webtest.Addresses(f.List("/api/v1/servers?" + tc.query)); got != tc.want {
				t.Errorf("GET ?%s: got %q, want %q", tc.query, got, tc.want)
			}
		})
	}
}

func TestListParameters(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{})
	tests := map[string]struct{ target, names string }{
		"unknown":              {"/api/v1/servers?colour=red", "colour"},
		"unknown, hostile":     {"/api/v1/servers?%1b%5b31m%e2%80%ae=1", "[31m"},
		"twice":                {"/api/v1/servers?limit=1&limit=2", "limit"},
		"limit zero":           {"/api/v1/servers?limit=0", "limit"},
		"limit too large":      {"/api/v1/servers?limit=10001", "limit"},
		"limit no number":      {"/api/v1/servers?limit=many", "limit"},
		"limit empty":          {"/api/v1/servers?limit=", "limit"},
		"game no name":         {"/api/v1/servers?game=a%20b", "game"},
		"game too long":        {"/api/v1/servers?game=" + strings.Repeat("g", games.MaxNameLen+1), "game"},
		"text too long":        {"/api/v1/servers?q=" + strings.Repeat("q", MaxQuery+1), "q"},
		"text not UTF-8":       {"/api/v1/servers?q=%ff", "q"},
		"full":                 {"/api/v1/servers?full=yes", "full"},
		"sort":                 {"/api/v1/servers?sort=colour", "sort"},
		"cursor of other sort": {"/api/v1/servers?sort=name&cursor=" + position{game: "gmtest", public: addr("192.0.2.1:1")}.cursor(), "cursor"},
		"cursor no base64":     {"/api/v1/servers?cursor=!!", "cursor"},
		"cursor too long":      {"/api/v1/servers?cursor=" + strings.Repeat("A", maxCursor+1), "cursor"},
		"cursor empty":         {"/api/v1/servers?cursor=", "cursor"},
		"broken escape":        {"/api/v1/servers?q=%zz", "query"},
		"semicolon":            {"/api/v1/servers?a=1;b=2", "query"},
		"games: active":        {"/api/v1/games?active=2", "active"},
		"games: unknown":       {"/api/v1/games?game=gmtest", "game"},
		"one server: anything": {"/api/v1/servers/qr2-192.0.2.1-6500?full=1", "full"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := f.Get(tc.target)
			text := webtest.ErrorText(t, w)
			if w.Code != http.StatusBadRequest || !strings.HasPrefix(text, tc.names+": ") {
				t.Errorf("GET %s: got %d %q, want 400 and %q in front", tc.target, w.Code, text, tc.names)
			}
			if tag := w.Header().Get("ETag"); tag != "" {
				t.Errorf("GET %s: a refusal has the tag %s", tc.target, tag)
			}
		})
	}
	for _, good := range []string{
		"limit=1", "limit=10000", "q=" + strings.Repeat("q", MaxQuery), "game=" + strings.Repeat("g", games.MaxNameLen), "full=0", "q=", "",
	} {
		if w := f.Get("/api/v1/servers?" + good); w.Code != http.StatusOK {
			t.Errorf("GET ?%s: got %d %s, want 200", good, w.Code, w.Body)
		}
	}
}

func TestCursorOfRemovedServer(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1"})
	key := f.Put(webtest.Listed{Addr: "192.0.2.2:1"})
	f.Put(webtest.Listed{Addr: "192.0.2.3:1"})
	next := f.List("/api/v1/servers?limit=2").Next
	f.Registry.Remove(key)
	if got, want := webtest.Addresses(f.List("/api/v1/servers?cursor="+next)), "192.0.2.3:1"; got != want {
		t.Errorf("after the server of the cursor left: got %q, want %q", got, want)
	}
}

func TestDefaultLimit(t *testing.T) {
	f := newFixture(t)
	f.Fill(DefaultLimit)
	if l := f.List("/api/v1/servers"); l.Count != DefaultLimit || l.Next != "" {
		t.Errorf("%d servers: got %d and next %q, want all and none", DefaultLimit, l.Count, l.Next)
	}
	f.Put(webtest.Listed{Addr: "198.51.100.1:1"})
	if l := f.List("/api/v1/servers"); l.Count != DefaultLimit || l.Total != DefaultLimit+1 || l.Next == "" {
		t.Errorf("one more: got %d of %d, next %q, want %d of %d and a cursor", l.Count, l.Total, l.Next, DefaultLimit, DefaultLimit+1)
	}
}

func TestListMaxAnswer(t *testing.T) {
	f := newFixture(t)
	f.Fill(100)
	list := f.api.lister.now()
	p := listParams{limit: MaxLimit}
	seen := 0
	for range 100 {
		l := webtest.Decode[webtest.ListJSON](t, strings.NewReader(string(encodeList(list, p, 2000))))
		if l.Count == 0 || l.Count != len(l.Servers) || l.Total != 100 {
			t.Fatalf("a part of the list has %d servers, says %d of %d", len(l.Servers), l.Count, l.Total)
		}
		seen += l.Count
		if l.Next == "" {
			break
		}
		var ok bool
		if p.after, ok = parseCursor(l.Next); !ok {
			t.Fatalf("parseCursor(%q) refuses what the list gave", l.Next)
		}
		p.cursor = true
	}
	if seen != 100 {
		t.Errorf("the parts have %d servers, want 100", seen)
	}
}

func TestTag(t *testing.T) {
	f := newFixture(t)
	key := f.Put(webtest.Listed{Rules: []string{"hostname", "one"}})
	all, mine, other := "/api/v1/servers", "/api/v1/servers?game=gmtest", "/api/v1/servers?game=gmother"
	single := "/api/v1/servers/qr2-192.0.2.1-6500"
	tag := func(target string) string { return f.Get(target).Header().Get("ETag") }
	before := map[string]string{}
	for _, target := range []string{all, mine, other, single, all + "?limit=5", all + "?full=1"} {
		got := tag(target)
		for t2, have := range before {
			if have == got {
				t.Errorf("%s and %s have the same tag %s", target, t2, got)
			}
		}
		before[target] = got
		w := f.Get(target, "If-None-Match", got)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || w.Header().Get("ETag") != got {
			t.Errorf("GET %s with its tag: got %d, %d bytes, tag %q; want 304, none, %q", target, w.Code, w.Body.Len(), w.Header().Get("ETag"), got)
		}
	}

	f.Registry.Touch(key, qr2.Origin, time.Now())
	if got := tag(all); got != before[all] {
		t.Errorf("tag changed from %s to %s although the server was only heard again", before[all], got)
	}
	f.Put(webtest.Listed{Rules: []string{"hostname", "two"}})
	for _, target := range []string{all, mine, single} {
		w := f.Get(target, "If-None-Match", before[target])
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "two") {
			t.Errorf("GET %s with the tag of an older list: got %d, want 200 with the change", target, w.Code)
		}
	}
	if w := f.Get(other, "If-None-Match", before[other]); w.Code != http.StatusNotModified {
		t.Errorf("GET %s after a change of another game: got %d, want 304", other, w.Code)
	}
	changed := tag(all)
	f.Registry.Remove(key)
	if w := f.Get(all, "If-None-Match", changed); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "two") {
		t.Errorf("GET %s after the server left: got %d, want 200 without it", all, w.Code)
	}
	if w := f.Get(single); w.Code != http.StatusNotFound {
		t.Errorf("GET %s after the server left: got %d, want 404", single, w.Code)
	}
}

func TestTagOfAnotherRun(t *testing.T) {
	one, two := newFixture(t), newFixture(t)
	one.Put(webtest.Listed{})
	two.Put(webtest.Listed{})
	tag := one.Get("/api/v1/servers").Header().Get("ETag")
	if w := two.Get("/api/v1/servers", "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("tag of another run with the same serial: got %d, want 200", w.Code)
	}
}

func TestTitleChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Put(webtest.Listed{})
		tag := f.Get("/api/v1/servers").Header().Get("ETag")
		if err := f.Catalog.Replace([]games.Game{{Name: "gmtest", Title: "New title"}}); err != nil {
			t.Fatalf("Replace: %v", err)
		}
		time.Sleep(views.MaxAge)
		w := f.Get("/api/v1/servers", "If-None-Match", tag)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "New title") {
			t.Errorf("after the title changed: got %d %s, want 200 with it", w.Code, w.Body)
		}
	})
}

func TestServer(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "[2001:db8::1]:6500"})
	f.Put(webtest.Listed{Addr: "192.0.2.7:6500", Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
	tests := map[string]struct {
		id   string
		want int
	}{
		"IPv6":                {"qr2-2001:db8::1-6500", 200},
		"another origin":      {"zandronum-192.0.2.7-6500", 200},
		"wrong origin":        {"qr2-192.0.2.7-6500", 404},
		"unknown origin":      {"nosuch-192.0.2.7-6500", 404},
		"wrong port":          {"zandronum-192.0.2.7-6501", 404},
		"port too large":      {"zandronum-192.0.2.7-72036", 404},
		"no address":          {"qr2--6500", 404},
		"no port":             {"qr2-192.0.2.7", 404},
		"just text":           {"hello", 404},
		"deeper":              {"qr2-2001:db8::1-6500/x", 404},
		"nothing":             {"", 404},
		"escaped, terminal":   {"%1b%5b31m", 404},
		"address in brackets": {"qr2-[2001:db8::1]-6500", 404},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := f.Get("/api/v1/servers/" + tc.id)
			if w.Code != tc.want {
				t.Errorf("GET %q: got %d, want %d", tc.id, w.Code, tc.want)
			}
			if tc.want == http.StatusNotFound {
				if webtest.ErrorText(t, w) == "" {
					t.Errorf("GET %q: the error has no text", tc.id)
				}
				return
			}
			if got := webtest.Decode[webtest.ServerJSON](t, w.Body).ID; got != tc.id {
				t.Errorf("GET %q: got the server %q", tc.id, got)
			}
		})
	}
}

func TestGames(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"numplayers", "3"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Rules: []string{"numplayers", "4"}})
	none, noEditions := []games.Service{}, []editionJSON{}
	editions := []editionJSON{
		{
			Copies: []string{"retail", "gog"}, Version: "1.1", State: games.Untried, Words: "not reported yet: the services run here", Way: "dns", Patch: []games.Change{}, HTTPS: true,
			Refuse: []string{"ads.example.org"}, Hint: "Install it again.", Evidence: &evidenceJSON{"seen <here>", "a README", "2026-03"},
		},
		{Copies: []string{"steam"}, State: games.Elsewhere, Words: "played on another network: Steam, since 2014-05", Patch: []games.Change{}, Refuse: []string{}},
	}
	want := []gameJSON{
		{Name: "gmother", Title: "Other game", QueryPort: games.DefaultQueryPort, Maintenance: true, State: games.NotKnown, Editions: noEditions, Services: "not known", Standing: "not known", Missing: none},
		{Name: "gmquiet", Title: "gmquiet", QueryPort: games.DefaultQueryPort, State: games.Blocked, Editions: noEditions, Services: "chat is missing in this version", Standing: "chat is missing in this version", Missing: []games.Service{"peerchat"}},
		{Name: "gmtest", Title: "Test <game>", ID: 7, QueryPort: 25000, Servers: 2, Players: 7, State: games.Untried, Editions: editions, Services: "all run", Standing: "all run", Missing: none},
	}
	if diff := cmp.Diff(want[1:2], webtest.Decode[[]gameJSON](t, f.Get("/api/v1/games?state=blocked").Body)); diff != "" {
		t.Errorf("games that cannot be played (-want +got):\n%s", diff)
	}
	if w := f.Get("/api/v1/games?state=maybe"); w.Code != http.StatusBadRequest {
		t.Errorf("games in an unknown state: got %d, want 400", w.Code)
	}
	w := f.Get("/api/v1/games")
	if diff := cmp.Diff(want, webtest.Decode[[]gameJSON](t, w.Body)); diff != "" {
		t.Errorf("games (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2:], webtest.Decode[[]gameJSON](t, f.Get("/api/v1/games?active=1").Body)); diff != "" {
		t.Errorf("active games (-want +got):\n%s", diff)
	}
	tag := w.Header().Get("ETag")
	if w := f.Get("/api/v1/games", "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Errorf("games with their tag: got %d, want 304", w.Code)
	}
	f.Put(webtest.Listed{Addr: "192.0.2.3:1"})
	if w := f.Get("/api/v1/games", "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("games with an older tag: got %d, want 200", w.Code)
	}
}

// TestSharedList checks that a game and its other name have one list.
func TestSharedList(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"numplayers", "3"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmquiet", Rules: []string{"numplayers", "4"}})
	list := f.Catalog.All()
	for i := range list {
		if list[i].Name == "gmtest" {
			list[i].Aliases, list[i].SharedList = []string{"gmquiet"}, true
		}
	}
	if err := f.Catalog.Replace(list); err != nil {
		t.Fatal(err)
	}
	before := f.Get("/api/v1/servers?game=gmquiet")
	f.Registry.Share(f.Catalog.SharedLists())
	if w := f.Get("/api/v1/servers?game=gmquiet", "If-None-Match", before.Header().Get("ETag")); w.Code != http.StatusOK {
		t.Errorf("the list with the tag of the one before: got %d, want 200", w.Code)
	}
	for _, game := range []string{"gmtest", "gmquiet"} {
		webtest.WantParts(t, "list of "+game, f.Get("/api/v1/servers?game="+game+"&limit=1").Body.String(), `"total":2,`)
		if d := webtest.Decode[gameDetails](t, f.Get("/api/v1/games/"+game).Body); d.Servers != 2 || d.Players != 7 || !d.Shared {
			t.Errorf("details of %s: %+v, want 2 servers and 7 players of a shared list", game, d)
		}
	}
	b := &batch{text: []byte("ABC"), events: []eventEnd{{"gmtest", 1}, {"gmother", 2}, {"gmquiet", 3}}}
	if got := string(b.textFor("gmtest", f.Registry.Sharing("gmtest"), advertise.Asker{})); got != "AC" {
		t.Errorf("events of the list: %q, want those of both names", got)
	}
}

func TestForeignTextInJSON(t *testing.T) {
	f := newFixture(t)
	for i, text := range webtest.HostileTexts() {
		name := "k" + strings.ReplaceAll(text, "\x00", "") // names end at a NUL already on the wire
		f.Put(webtest.Listed{
			Addr: fmt.Sprintf("192.0.2.%d:6500", i),
			Rules: []string{
				"hostname", text, "mapname", text, "gametype", text, "numplayers", text, "hostport", text, "password", text,
				name, text, name + "\u200b", "again",
			},
			Players: [][]string{{"player_", name}, {text, text}},
		})
	}
	w := f.Get("/api/v1/servers?full=1")
	body := w.Body.Bytes()
	if !json.Valid(body) {
		t.Fatalf("the list is not JSON: %q", body)
	}
	webtest.CheckNothingHidden(t, strings.TrimSuffix(string(body), "\n"))
	checkNoKeyTwice(t, body)
	for i, s := range webtest.Decode[webtest.ListJSON](t, w.Body).Servers {
		var n int
		if _, err := fmt.Sscanf(s.Host, "192.0.2.%d", &n); err != nil {
			t.Fatalf("host %q: %v", s.Host, err)
		}
		want := clean.Text(webtest.HostileTexts()[n])
		if s.Name != want || s.Map != want || s.Type != want || s.Rules["hostname"] != want || s.PlayerList[0]["player_"] != want {
			t.Errorf("server %d: got %q, %q, %q, %q, %q; want %q", i, s.Name, s.Map, s.Type, s.Rules["hostname"], s.PlayerList[0]["player_"], want)
		}
	}
}

// checkNoKeyTwice fails if an object has a key twice, which decoders take for the
// last one or for an error.
func checkNoKeyTwice(t *testing.T, body []byte) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	var stack []map[string]bool // nil for arrays
	key := true                 // the next string in an object is a key
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				stack = append(stack, map[string]bool{})
				key = true
			case '[':
				stack = append(stack, nil)
			default:
				stack = stack[:len(stack)-1]
				key = true
			}
			continue
		case string:
			if top := stack[len(stack)-1]; top != nil && key {
				if top[v] {
					t.Errorf("an object has the key %q twice", v)
				}
				top[v] = true
				key = false
				continue
			}
		}
		key = true
	}
}
