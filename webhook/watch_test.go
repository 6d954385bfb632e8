package webhook

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestServerUpAndDown(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.expect(soon, "") // servers listed before are not reported
		key := f.put(listing{port: 1, name: "One"})
		f.expect(soon, "server.up One")
		f.put(listing{port: 1, name: "Renamed"})
		f.expect(soon, "")
		f.registry.Remove(key)
		f.expect(settle-time.Second, "")
		f.expect(soon, "server.down Renamed")
		f.put(listing{port: 1, name: "Again"})
		f.expect(soon, "server.up Again")
	})
}

func TestRun(t *testing.T) {
	t.Run("server listed between New and Run", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, plain())
			f.put(listing{port: 1, name: "One"})
			f.run(func(f *fixture) { f.expect(soon, "server.up One") })
		})
	})
}

func TestServerRestart(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		key := f.put(listing{port: 1, name: "One"})
		f.expect(soon, "server.up One")
		for range 3 {
			f.registry.Remove(key)
			f.expect(settle-10*time.Second, "")
			f.put(listing{port: 1, name: "One"})
			f.expect(soon, "")
		}
		f.expect(2*settle, "")
	})
}

func TestServerUpAndDownAtOnce(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.registry.Remove(f.put(listing{port: 1, name: "One"}))
		f.expect(2*settle, "")
	})
}

func TestServerChangesGame(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.put(listing{port: 1, name: "One"})
		f.expect(soon, "server.up One")
		f.put(listing{port: 1, game: "gmother", name: "Two"})
		f.expect(soon, "server.up Two")
		f.expect(2*settle, "server.down One")
	})
}

func TestPlayersHysteresis(t *testing.T) {
	watching(t, plain(func(h *Hook) { h.High, h.Low = 8, 4 }), func(f *fixture) {
		players := func(n int, want string) {
			t.Helper()
			f.put(listing{port: 1, name: "One", players: fmt.Sprint(n)})
			f.expect(soon, want)
		}
		players(7, "server.up One")
		players(8, "players.high One")
		for _, n := range []int{9, 7, 8, 5, 8, 16} {
			players(n, "")
		}
		players(4, "players.low One")
		for _, n := range []int{5, 0, 7, 4} {
			players(n, "")
		}
		players(8, "players.high One")
		f.put(listing{port: 2, name: "Full at once", players: "16"})
		f.expect(soon, "server.up Full at once, players.high Full at once")
		f.put(listing{port: 1000, name: "here already", players: "8"}) // was above it when we came
		f.expect(soon, "")
		f.put(listing{port: 1000, name: "here already", players: "3"})
		f.expect(soon, "players.low here already")
	})
}

func TestServerReturns(t *testing.T) {
	watching(t, plain(func(h *Hook) { h.High, h.Low = 8, 4 }), func(f *fixture) {
		key := f.put(listing{port: 1, name: "One", players: "8"})
		f.expect(soon, "server.up One, players.high One")
		f.registry.Remove(key)
		f.expect(2*settle, "server.down One")
		f.put(listing{port: 1, name: "One", players: "8"})
		f.expect(soon, "server.up One, players.high One")
	})
}

func TestHookFilter(t *testing.T) {
	named := func(name string, change func(*Hook)) Hook {
		h := plain(change)[0]
		h.Name = name
		return h
	}
	for name, tc := range map[string]struct {
		hook Hook
		want string
	}{
		"everything":  {named("a", func(*Hook) {}), "server.up One, server.up Two, ban.added 198.51.100.0/24"},
		"one game":    {named("b", func(h *Hook) { h.Games = []string{"gmother"} }), "server.up Two, ban.added 198.51.100.0/24"},
		"one kind":    {named("c", func(h *Hook) { h.Kinds = []Kind{BanAdded} }), "ban.added 198.51.100.0/24"},
		"other kinds": {named("d", func(h *Hook) { h.Kinds = []Kind{ServerDown, BanRemoved} }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			watching(t, []Hook{tc.hook}, func(f *fixture) {
				f.put(listing{port: 1, name: "One"})
				f.expect(0, "")
				f.put(listing{port: 2, game: "gmother", name: "Two"})
				f.bans = []storage.Ban{{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Scope: storage.ScopeAll}}
				time.Sleep(collect + collect/2)
				f.d.BansChanged()
				f.expect(soon, tc.want)
			})
		})
	}
}

func TestBanEvents(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		now := time.Now()
		ban := func(prefix string, scope storage.Scope, reason string) storage.Ban {
			return storage.Ban{Prefix: netip.MustParsePrefix(prefix), Scope: scope, Reason: reason, Added: now}
		}
		change := func(want string, list ...storage.Ban) {
			t.Helper()
			f.bans = list
			f.d.BansChanged()
			f.expect(soon, want)
		}
		one, two := ban("192.0.2.0/24", storage.ScopeAll, "a"), ban("192.0.2.0/24", storage.ScopeLists, "a")
		change("ban.added 192.0.2.0/24", one)
		change("", one)
		change("ban.added 192.0.2.0/24", one, two)
		change("ban.added 192.0.2.0/24", one, ban("192.0.2.0/24", storage.ScopeLists, "another reason"))
		change("ban.removed 192.0.2.0/24, ban.removed 192.0.2.0/24")
	})
}

func TestWatchChangeLogOverflow(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		first := f.put(listing{port: 1, name: "Old"})
		f.expect(soon, "server.up Old")
		f.registry.Remove(first)
		for i := range 100 {
			f.put(listing{port: 2, name: fmt.Sprint("v", i)})
		}
		f.expect(soon, "server.up v99")
		f.expect(2*settle, "server.down Old")
	})
}

func TestSetHooks(t *testing.T) {
	watching(t, nil, func(f *fixture) {
		f.put(listing{port: 1, name: "unwatched"})
		f.expect(soon, "")
		a := plain()[0]
		b := plain(func(h *Hook) { h.Name, h.Games = "other", []string{"gmother"} })[0]
		f.d.SetHooks([]Hook{a})
		f.expect(soon, "") // a new hook does not report listed servers
		f.put(listing{port: 2, name: "Two"})
		f.expect(soon, "server.up Two")
		f.d.SetHooks([]Hook{b, a})
		f.put(listing{port: 3, game: "gmother", name: "Three"})
		f.expect(soon, "server.up Three, server.up Three")
		f.d.SetHooks([]Hook{b})
		f.put(listing{port: 4, name: "Four"})
		f.expect(soon, "")
		f.d.SetHooks(nil)
		f.put(listing{port: 5, game: "gmother", name: "Five"})
		f.expect(soon, "")
		f.d.SetHooks([]Hook{b})
		synctest.Wait() // watching starts with the list as it is then
		f.put(listing{port: 6, game: "gmother", name: "Six"})
		f.expect(soon, "server.up Six")
	})
}

func TestSetHooksKeepsQueue(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.put(listing{port: 1, name: "One"})
		time.Sleep(collect + collect/2) // queued, not sent yet
		f.d.SetHooks(plain())
		f.expect(soon, "server.up One")
	})
}
