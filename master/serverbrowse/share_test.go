package serverbrowse

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/master"
)

// addressesOf returns the sorted addresses of a list.
func addressesOf(r Reply) []string { return slices.Sorted(maps.Keys(rowsOf(r))) }

// TestSharedList checks that servers of a game and its other names are in one
// list, whichever name is requested, and that each browser reads it with the
// secret of its own game.
func TestSharedList(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Full"}, nil)
	put(t, f.reg, "other", "192.0.2.2:6500", []string{"hostname", "Demo"}, nil)
	ask := func(game, secret string) []string {
		t.Helper()
		b := f.connect(t)
		r := request(func(r *ListRequest) { r.For, r.From = game, game })
		msg, err := r.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.write(msg)
		if b.dec, err = NewDecoder(b.conn, secret, testChallenge); err != nil {
			t.Fatal(err)
		}
		return addressesOf(b.reply(r.Options))
	}
	check := func(want map[string][]string) {
		t.Helper()
		for game, secret := range map[string]string{"gmtest": testSecret, "other": "abcdef"} {
			if got := ask(game, secret); !slices.Equal(got, want[game]) {
				t.Errorf("the list of %s has %v, want %v", game, got, want[game])
			}
		}
	}
	both := []string{"192.0.2.1:6500", "192.0.2.2:6500"}
	check(map[string][]string{"gmtest": both[:1], "other": both[1:]})
	f.reg.Share([][]string{{"gmtest", "other"}})
	check(map[string][]string{"gmtest": both, "other": both})
	f.reg.Share(nil)
	check(map[string][]string{"gmtest": both[:1], "other": both[1:]})
}

// TestPushOfSharedList checks that a browser's list follows the servers of all
// names, even when games begin or stop sharing their lists.
func TestPushOfSharedList(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:6500", nil, nil)
	put(t, f.reg, "other", "192.0.2.2:6500", nil, nil)
	b := f.connect(t)
	if got := b.subscribe(nil); len(got.Entries) != 1 {
		t.Fatalf("list %v, want one server", addressesOf(got))
	}
	want := func(kind PushKind, address string) {
		t.Helper()
		p := b.next()
		for p.Entry.Public.String() == "192.0.2.1:6500" { // it may be sent again
			p = b.next()
		}
		if got := p.Address.String(); p.Kind != kind || kind == PushDelete && got != address || kind == PushServer && p.Entry.Public.String() != address {
			t.Fatalf("got %+v, want kind %d about %s", p, kind, address)
		}
	}
	f.reg.Share([][]string{{"gmtest", "other"}})
	want(PushServer, "192.0.2.2:6500")
	put(t, f.reg, "other", "192.0.2.3:6500", nil, nil)
	want(PushServer, "192.0.2.3:6500")
	f.reg.Remove(master.Key{Source: netip.MustParseAddrPort("192.0.2.2:6500"), Instance: 1})
	want(PushDelete, "192.0.2.2:6500")
	late := f.connect(t)
	if got := late.subscribe(nil); len(got.Entries) != 2 {
		t.Fatalf("list %v, want two servers", addressesOf(got))
	}
	f.reg.Share(nil)
	want(PushDelete, "192.0.2.3:6500")
	b = late
	want(PushDelete, "192.0.2.3:6500")
}

// TestSearchOfSharedLists checks that a player is found once, and under the name that
// the server registered under.
func TestSearchOfSharedLists(t *testing.T) {
	f := start(t, nil)
	putPlayers(t, f.reg, "gmtest", "192.0.2.1:6500", nil, []string{"Anna"}, nil)
	putPlayers(t, f.reg, "other", "192.0.2.2:6500", nil, []string{"Bert"}, nil)
	f.reg.Share([][]string{{"gmtest", "other"}})
	from := netip.MustParseAddrPort("192.0.2.9:1").Addr()
	for _, o := range []SearchOption{0, SearchAllGames} {
		found, ok := f.srv.search(from, "gmtest", PlayerSearch{Name: "Bert", Options: o})
		if !ok || len(found) != 1 || found[0].Game != "other" || found[0].Seen != 1_700_000_000 {
			t.Errorf("options %v: found %+v, want the player once, on a server of the other name", o, found)
		}
	}
}
