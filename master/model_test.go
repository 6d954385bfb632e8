package master

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// naive is a simple implementation of the list, for a dozen servers.
type naive struct {
	lim    Limits
	list   []naiveEntry
	hide   map[netip.AddrPort]bool // by public address
	joined int                     // counts servers that may be replaced
	groups [][]string              // of games that share a list
	cached map[string]cachedList   // by game
}

// cachedList is a list as a reader caches it until its serial changes.
type cachedList struct {
	serial  uint64
	servers map[*Server]bool
}

// has reports whether the list of a game has servers of another.
func (n *naive) has(game, other string) bool {
	return game == other || slices.ContainsFunc(n.groups, func(g []string) bool { return slices.Contains(g, game) && slices.Contains(g, other) })
}

type naiveEntry struct {
	Server
	last   time.Time
	joined int // 0: it may not be replaced
}

// crowd returns how many servers an address and its network have; replaceable:
// only those that may be replaced.
func (n *naive) crowd(a netip.Addr, replaceable bool) (addr, net int) {
	for _, e := range n.list {
		if replaceable && e.joined == 0 {
			continue
		}
		if e.Key.Source.Addr() == a {
			addr++
		}
		if network(e.Key.Source.Addr()) == network(a) {
			net++
		}
	}
	return addr, net
}

// outweighed returns the servers of which a newcomer may replace any, none if it
// replaces none.
func (n *naive) outweighed(s *Server) (any []Key) {
	if len(n.list) < n.lim.Servers*9/10 {
		return nil
	}
	share := func(addr, net int) float64 {
		return max(float64(addr)/float64(n.lim.PerAddr), float64(net)/float64(n.lim.PerNet))
	}
	own := 0.0
	if s.Origin != Static && !n.lim.Exempt(s.Key.Source.Addr()) {
		addr, net := n.crowd(s.Key.Source.Addr(), false)
		own = share(addr+1, net+1)
	}
	newestOf := func(same func(*naiveEntry) bool) Key {
		newest := naiveEntry{}
		for _, e := range n.list {
			if same(&e) && e.joined > newest.joined {
				newest = e
			}
		}
		return newest.Key
	}
	most := own
	for _, e := range n.list {
		addr, net := n.crowd(e.Key.Source.Addr(), true)
		if share(addr, net) > most {
			most = share(addr, net)
		}
	}
	if most <= own {
		return nil
	}
	for _, e := range n.list {
		addr, net := n.crowd(e.Key.Source.Addr(), true)
		if share(addr, 0) == most {
			any = append(any, newestOf(func(o *naiveEntry) bool { return o.Key.Source.Addr() == e.Key.Source.Addr() }))
		}
		if share(0, net) == most {
			any = append(any, newestOf(func(o *naiveEntry) bool { return network(o.Key.Source.Addr()) == network(e.Key.Source.Addr()) }))
		}
	}
	return any
}

// enter returns the entry of a record; old is the one that it replaces, with the
// same server or another, if any.
func (n *naive) enter(s Server, same *naiveEntry) naiveEntry {
	e := naiveEntry{Server: s, last: s.Seen}
	switch {
	case s.Origin == Static || n.lim.Exempt(s.Key.Source.Addr()):
	case same != nil && same.joined > 0:
		e.joined = same.joined
	default:
		n.joined++
		e.joined = n.joined
	}
	return e
}

func (n *naive) find(f func(*naiveEntry) bool) int {
	for i := range n.list {
		if f(&n.list[i]) {
			return i
		}
	}
	return -1
}

func (n *naive) source(a netip.AddrPort) int {
	return n.find(func(e *naiveEntry) bool { return e.Key.Source == a })
}

func (n *naive) key(k Key) int {
	return n.find(func(e *naiveEntry) bool { return e.Key == k })
}

// put lists a server. replaced is the key of the one that it replaced.
func (n *naive) put(s Server, replaced *Key) error {
	i := n.source(s.Key.Source)
	taken := n.find(func(e *naiveEntry) bool { return e.Public == s.Public && e.Key.Source != s.Key.Source })
	sameAddr, sameNet := n.crowd(s.Key.Source.Addr(), false)
	exempt := n.lim.Exempt(s.Key.Source.Addr())
	may := n.outweighed(&s)
	switch {
	case i < 0 && len(n.list) >= n.lim.Servers && may == nil:
		return ErrFull
	case i < 0 && !exempt && (sameAddr >= n.lim.PerAddr || sameNet >= n.lim.PerNet):
		return ErrTooManyHere
	case taken >= 0:
		return ErrTaken
	}
	if s.First.IsZero() {
		s.First = s.Seen
	}
	if i < 0 {
		if (replaced != nil) != (may != nil) || replaced != nil && !slices.Contains(may, *replaced) {
			return fmt.Errorf("replaced %v, want one of %v", replaced, may)
		}
		if replaced != nil {
			n.drop(func(e *naiveEntry) bool { return e.Key == *replaced })
		}
		n.list = append(n.list, n.enter(s, nil))
		return nil
	}
	if replaced != nil {
		return fmt.Errorf("replaced %v for a server that is listed", *replaced)
	}
	old := &n.list[i]
	if old.Key == s.Key && old.Game == s.Game && old.Public == s.Public && old.Origin == s.Origin {
		s.First, s.Findings = old.First, old.Findings
		n.list[i] = n.enter(s, old)
		return nil
	}
	n.list[i] = n.enter(s, nil)
	return nil
}

func (n *naive) silent(e *naiveEntry, now time.Time) bool {
	lifetime := n.lim.Expire
	if e.Lifetime > 0 {
		lifetime = e.Lifetime
	}
	return now.Sub(e.last) >= lifetime
}

func (n *naive) drop(f func(*naiveEntry) bool) int {
	before := len(n.list)
	n.list = slices.DeleteFunc(n.list, func(e naiveEntry) bool { return f(&e) })
	return before - len(n.list)
}

// mirror follows the list only by its log of changes.
type mirror struct {
	serial uint64
	listed map[Key]netip.AddrPort
}

func (m *mirror) follow(t *rapid.T, r *Registry) {
	changes, now, ok := r.Changes("", m.serial, nil)
	if !ok {
		t.Fatalf("Changes since %d: the log does not reach back", m.serial)
	}
	for _, c := range changes {
		m.serial++
		if c.Serial != m.serial {
			t.Fatalf("gap in the serials: got %d after %d", c.Serial, m.serial-1)
		}
		_, listed := m.listed[c.Key]
		if listed == (c.Kind == Added) {
			t.Fatalf("%v: %v is listed: %v", c.Kind, c.Key, listed)
		}
		if c.Kind == Removed {
			delete(m.listed, c.Key)
		} else {
			m.listed[c.Key] = c.Public
		}
	}
	if now != m.serial {
		t.Fatalf("Changes end with %d, the last serial is %d", m.serial, now)
	}
}

func TestListBehavesLikeANaiveOne(t *testing.T) {
	games := []string{"one", "two", "three"}
	var addrs, publics []netip.AddrPort
	for _, text := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.2:1", "10.0.0.3:1", "10.0.1.1:1", "10.0.1.1:2", "10.0.1.1:3", "10.0.2.1:1", "[2001:db8::1]:1"} {
		addrs = append(addrs, addrPort(text))
	}
	publics = append(slices.Clone(addrs), addrPort("192.0.2.1:1"), addrPort("192.0.2.2:1"))

	rapid.Check(t, func(t *rapid.T) {
		lim := Limits{Servers: 6, PerAddr: 2, PerNet: 3, Expire: time.Minute, Changes: 1 << 12}
		lim.Exempt = func(a netip.Addr) bool { return a == addrs[5].Addr() }
		r, model := NewRegistry(lim), &naive{lim: lim, hide: make(map[netip.AddrPort]bool), cached: make(map[string]cachedList)}
		now := start
		reader := mirror{listed: make(map[Key]netip.AddrPort)}
		players := newPopulations(r)
		key := func(t *rapid.T) Key {
			return Key{rapid.SampledFrom(addrs).Draw(t, "source"), rapid.Uint32Range(1, 2).Draw(t, "instance")}
		}
		origin := func(t *rapid.T) *Origin {
			return rapid.SampledFrom([]*Origin{fromQR2, fromQR2, fromQR2, fromQR1, Static}).Draw(t, "origin")
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := key(t)
				s := Server{Key: k, Game: rapid.SampledFrom(games).Draw(t, "game"), Origin: origin(t), Public: k.Source, Seen: now}
				if rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0 {
					s.Public = rapid.SampledFrom(publics).Draw(t, "public")
				}
				s.Local = publics[:rapid.IntRange(0, 2).Draw(t, "locals")]
				players.fill(t, r, &s)
				s.Lifetime = rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Second, 5 * time.Minute}).Draw(t, "lifetime")
				got := r.Put(s)
				var replaced *Key
				select {
				case gone := <-r.Replaced():
					replaced = &gone.Key
				default:
				}
				want := model.put(s, replaced)
				if !errors.Is(got, want) {
					t.Fatalf("Put(%v at %v): got %v, want %v", s.Key, s.Public, got, want)
				}
			},
			"update": func(t *rapid.T) {
				s := Server{Key: key(t), Game: rapid.SampledFrom(games).Draw(t, "game"), Origin: origin(t), Seen: now}
				s.Public = s.Key.Source
				s.Local = publics[:rapid.IntRange(0, 2).Draw(t, "locals")]
				players.fill(t, r, &s)
				i := model.key(s.Key)
				want := i >= 0 && model.list[i].Game == s.Game && model.list[i].Origin == s.Origin && model.list[i].Public == s.Public
				if got := r.Update(&s); got != want {
					t.Fatalf("Update(%v): got %v, want %v", s.Key, got, want)
				}
				if want {
					_ = model.put(s, nil)
				}
			},
			"count": func(t *rapid.T) { comparePopulations(t, r, model) },
			"hide or unhide": func(t *rapid.T) {
				public := rapid.SampledFrom(publics).Draw(t, "public")
				hidden := model.hide[public]
				if hidden && !r.Unhide(public) || !hidden && !r.Hide(public) {
					t.Fatalf("Hide or Unhide(%v): got false, it was hidden: %v", public, hidden)
				}
				model.hide[public] = !hidden
			},
			"share": func(t *rapid.T) {
				model.groups = rapid.SampledFrom([][][]string{nil, {{"one", "two"}}, {{"one", "two", "three"}}, {{"two", "three"}}}).Draw(t, "groups")
				r.Share(model.groups)
			},
			"touch": func(t *rapid.T) {
				k, from := key(t), origin(t)
				i := model.key(k)
				want := i >= 0 && model.list[i].Origin == from
				if want {
					model.list[i].last = now
				}
				if got := r.Touch(k, from, now); got != want {
					t.Fatalf("Touch(%v, %v): got %v, want %v", k, from, got, want)
				}
			},
			"remove": func(t *rapid.T) {
				k := key(t)
				want := model.drop(func(e *naiveEntry) bool { return e.Key == k }) > 0
				if got := r.Remove(k); got != want {
					t.Fatalf("Remove(%v): got %v, want %v", k, got, want)
				}
			},
			"removeFunc": func(t *rapid.T) {
				game := rapid.SampledFrom(games).Draw(t, "game")
				want := model.drop(func(e *naiveEntry) bool { return e.Game == game })
				if got := r.RemoveFunc(func(s *Server) bool { return s.Game == game }); len(got) != want {
					t.Fatalf("RemoveFunc(%s): took %d, want %d", game, len(got), want)
				}
			},
			"report": func(t *rapid.T) {
				k, f := key(t), Findings{Reached: rapid.SampledFrom([]Reached{ReachedUnknown, ReachedDirect}).Draw(t, "reached")}
				i := model.key(k)
				if i >= 0 {
					model.list[i].Findings = f
				}
				if got := r.Report(k, f); got != (i >= 0) {
					t.Fatalf("Report(%v): got %v, want %v", k, got, i >= 0)
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
				want := model.drop(func(e *naiveEntry) bool { return model.silent(e, now) })
				if got := r.expire(now); len(got) != want {
					t.Fatalf("expire: took %d, want %d", len(got), want)
				}
			},
			"": func(t *rapid.T) {
				compare(t, r, model, games, publics)
				reader.follow(t, r)
				want := make(map[Key]netip.AddrPort)
				for _, e := range model.list {
					if !model.hide[e.Public] {
						want[e.Key] = e.Public
					}
				}
				if !maps.Equal(reader.listed, want) {
					t.Fatalf("who follows the changes sees %v, want %v", reader.listed, want)
				}
			},
		})
	})
}

// compare checks all queries of the list.
func compare(t *rapid.T, r *Registry, model *naive, games []string, publics []netip.AddrPort) {
	if r.Len() != len(model.list) {
		t.Fatalf("Len: got %d, want %d", r.Len(), len(model.list))
	}
	counts := make(map[string]int)
	for _, e := range model.list {
		if !model.hide[e.Public] {
			counts[e.Game]++
		}
		got, ok := r.Get(e.Key)
		if !ok || describe(got) != describe(&e.Server) {
			t.Fatalf("Get(%v): got %v, want %v", e.Key, describe(got), describe(&e.Server))
		}
		if at, ok := r.At(e.Key.Source); !ok || at != got {
			t.Fatalf("At(%v): got %v, want the same record", e.Key.Source, at)
		}
	}
	if got := r.Counts(); !maps.Equal(got, counts) {
		t.Fatalf("Counts: got %v, want %v", got, counts)
	}
	for _, game := range games {
		compareList(t, r, model, game, counts)
	}
	for _, public := range publics {
		i := model.find(func(e *naiveEntry) bool { return e.Public == public && !model.hide[public] })
		got, ok := r.Find(public)
		if ok != (i >= 0) || ok && got.Key != model.list[i].Key {
			t.Fatalf("Find(%v): got %v %v", public, describe(got), ok)
		}
	}
	comparePrivate(t, r, model, games)
	for _, h := range append(r.All(), r.Hidden()...) {
		if i := model.key(h.Key); i < 0 || !h.LastSeen.Equal(model.list[i].last) {
			t.Fatalf("%v last heard: got %v", h.Key, h.LastSeen)
		}
	}
}

// compareList checks the list of a game, and that it stays as it is while its serial
// does.
func compareList(t *rapid.T, r *Registry, model *naive, game string, counts map[string]int) {
	want := 0
	for name, n := range counts {
		if model.has(game, name) {
			want += n
		}
	}
	snap, serial := r.Snapshot(game, nil)
	if len(snap) != want || serial != r.Serial(game) {
		t.Fatalf("Snapshot(%s): %d servers with serial %d, want %d with %d", game, len(snap), serial, want, r.Serial(game))
	}
	servers := make(map[*Server]bool)
	for _, s := range snap {
		if model.key(s.Key) < 0 || model.hide[s.Public] || !model.has(game, s.Game) || !s.IsOf(game, r.Sharing(game)) || s.Serial > serial {
			t.Fatalf("Snapshot(%s) has %v with serial %d", game, describe(s), s.Serial)
		}
		servers[s] = true
	}
	if c, ok := model.cached[game]; ok && (c.serial > serial || c.serial == serial && !maps.Equal(c.servers, servers)) {
		t.Fatalf("the list of %s changed and its serial went from %d to %d", game, c.serial, serial)
	}
	model.cached[game] = cachedList{serial, servers}
}

// comparePrivate checks the queries about private addresses.
func comparePrivate(t *rapid.T, r *Registry, model *naive, games []string) {
	varying, onPort := make(map[string]bool), make(map[uint16]int)
	for _, e := range model.list {
		if !r.Near(e.Key.Source.Addr()) {
			t.Fatalf("Near(%v): got false, want true", e.Key.Source.Addr())
		}
		if model.hide[e.Public] {
			continue
		}
		if IsPrivate(e.Public.Addr()) {
			onPort[e.Public.Port()]++
		}
		varying[e.Game] = varying[e.Game] || IsPrivate(e.Public.Addr()) || len(e.Local) > 1
	}
	if got, want := r.AnyPrivate(), model.find(func(e *naiveEntry) bool { return IsPrivate(e.Public.Addr()) }) >= 0; got != want {
		t.Fatalf("AnyPrivate: got %v, want %v", got, want)
	}
	for _, game := range games {
		want := false
		for name, varies := range varying {
			want = want || varies && model.has(game, name)
		}
		if got := r.Varies(game); got != want {
			t.Fatalf("Varies(%s): got %v, want %v", game, got, want)
		}
	}
	for port := range uint16(4) {
		got := r.PrivateOn(port)
		if len(got) != onPort[port] {
			t.Fatalf("PrivateOn(%d): got %d servers, want %d", port, len(got), onPort[port])
		}
		for _, s := range got {
			if model.key(s.Key) < 0 || s.Public.Port() != port {
				t.Fatalf("PrivateOn(%d) has %v", port, describe(s))
			}
		}
	}
}

func describe(s *Server) string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprint(s.Key, s.Game, s.Public, s.Findings, s.Lifetime, s.Restored, s.First.Unix(), s.Seen.Unix())
}
