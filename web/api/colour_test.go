package api

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
	"github.com/respawnd/respawnd/zanmaster"
)

// TestColourCodes: a name has none in JSON, and the rules keep the reported values.
func TestColourCodes(t *testing.T) {
	f := newFixture(t)
	const raw = "^1The ^2Inn"
	players := [][]string{{"player_"}, {"^3Zo^4e"}}
	f.Put(webtest.Listed{Addr: "192.0.2.1:1", Game: "gmother", Rules: []string{"hostname", raw, "mapname", "^1deck"}, Players: players})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmtest", Rules: []string{"hostname", raw}, Players: players})
	f.Put(webtest.Listed{Addr: "192.0.2.3:1", Game: "gmtest", Rules: []string{"hostname", `\cgThe [x] Inn`}, Change: func(s *master.Server) { s.Origin = zanmaster.Origin }})
	name := func(address string) (string, string) {
		t.Helper()
		list := f.List("/api/v1/servers?address=" + address)
		if len(list.Servers) != 1 {
			t.Fatalf("%d servers at %s", len(list.Servers), address)
		}
		return list.Servers[0].Name, list.Servers[0].Rules["hostname"]
	}
	for address, want := range map[string][2]string{
		"192.0.2.1": {"The Inn", raw}, "192.0.2.2": {raw, raw}, "192.0.2.3": {"The [x] Inn", `\cgThe [x] Inn`},
	} {
		if plain, rule := name(address); plain != want[0] || rule != want[1] {
			t.Errorf("%s: name %q, rule %q; want %q", address, plain, rule, want)
		}
	}
	for query, want := range map[string]string{
		"q=the%20inn": "192.0.2.1:1", "player=zoe": "192.0.2.1:1", "player=zo^4e": "192.0.2.2:1",
	} {
		if got := webtest.Addresses(f.List("/api/v1/servers?" + query)); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	if events := f.events().Body.String(); strings.Contains(events, `"name":"^`) {
		t.Errorf("an event has codes in a name: %s", events)
	}

	// The operator states the codes of a game, which shows at once.
	tag := f.Get("/api/v1/servers").Header().Get("ETag")
	all := f.Catalog.All()
	for i := range all {
		if all[i].Name == "gmtest" {
			all[i].Facts = games.Facts{Colours: "quake"}
		}
	}
	if err := f.Catalog.Replace(all); err != nil {
		t.Fatal(err)
	}
	f.Put(webtest.Listed{Addr: "192.0.2.9:1"}) // lists are read again
	if plain, _ := name("192.0.2.2"); plain != "The Inn" {
		t.Errorf("after the change of the game: %q", plain)
	}
	if next := f.Get("/api/v1/servers").Header().Get("ETag"); next == tag {
		t.Error("the tag is the same after the change")
	}
}
