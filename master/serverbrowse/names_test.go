package serverbrowse

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// lookAtAll is a search that reads every player of a game.
func lookAtAll(reg *master.Registry, game string, o SearchOption, wanted string, most int) (found []FoundPlayer) {
	for s := range reg.List(game) {
		column, ok := s.Players.Names().Index(playerColumn)
		if !ok || !shown(s) {
			continue
		}
		for r := range s.Players.Rows() {
			name := s.Players.Value(r, column)
			if o.matches(master.FoldName(name), wanted) {
				if found = append(found, FoundPlayer{name, s.Public, uint32(s.Seen.Unix()), game}); len(found) == most {
					return found
				}
			}
		}
	}
	return found
}

func TestIndexMatchesFullScan(t *testing.T) {
	name := rapid.Custom(func(t *rapid.T) string {
		return rapid.StringOfN(rapid.SampledFrom([]rune("aAbB\u00e4")), 0, 5, -1).Draw(t, "name")
	})
	s := New(Options{Listing: part.Listing{Registry: newTestRegistry()}})
	rapid.Check(t, func(t *rapid.T) {
		reg := newTestRegistry()
		for i, players := range rapid.SliceOfN(rapid.SliceOfN(name, 0, 6), 0, 6).Draw(t, "servers") {
			s := master.Server{Origin: qr2.Origin, Game: "gmtest", Seen: time.Unix(int64(i), 0)}
			s.Public = netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(1000+i))
			s.Key.Source = s.Public
			var rep master.Report
			for _, p := range players {
				rep.Player([]byte(p))
			}
			rep.SetPlayers(reg.Names([]string{playerColumn}), len(players))
			if err := rep.Into(&s); err != nil {
				t.Fatal(err)
			}
			if err := reg.Put(s); err != nil {
				t.Fatal(err)
			}
		}
		s.opt.Registry, s.indexes = reg, newIndexes()
		for range 10 {
			o := SearchOption(rapid.IntRange(0, 1).Draw(t, "part"))*SearchSubstring |
				SearchOption(rapid.IntRange(0, 1).Draw(t, "start"))*SearchPrefix |
				SearchOption(rapid.IntRange(0, 1).Draw(t, "end"))*SearchSuffix
			q := PlayerSearch{Options: o, Name: name.Draw(t, "wanted"), Max: uint32(rapid.IntRange(0, 5).Draw(t, "most"))}
			most := int(q.Max)
			if most == 0 {
				most = maxFound
			}
			got, ok := s.search(netip.MustParseAddr("192.0.2.99"), "gmtest", q)
			want := lookAtAll(reg, "gmtest", o, master.FoldName(q.Name), most)
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.AddrPort{})); !ok || d != "" {
				t.Fatalf("%+v: %v (-looked at all +index):\n%s", q, ok, d)
			}
		}
	})
}

// The index is at most a second old, and servers hidden or removed since are
// not found in it.
func TestIndexOfNamesIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newTestRegistry()
		s := New(Options{Listing: part.Listing{Registry: reg}})
		want := func(names ...string) {
			t.Helper()
			found, _ := s.search(netip.MustParseAddr("192.0.2.99"), "gmtest", PlayerSearch{Options: SearchSubstring, Name: "jo"})
			var got []string
			for _, f := range found {
				got = append(got, f.Name)
			}
			if d := cmp.Diff(names, got); d != "" {
				t.Errorf("found (-want +got):\n%s", d)
			}
		}
		putPlayers(t, reg, "gmtest", "192.0.2.1:6500", nil, []string{"Joe", "Joey"}, nil)
		putPlayers(t, reg, "gmtest", "192.0.2.2:6500", nil, []string{"Jonas"}, nil)
		want("Joe", "Joey", "Jonas")
		putPlayers(t, reg, "gmtest", "192.0.2.3:6500", nil, []string{"Major"}, nil)
		reg.Hide(netip.MustParseAddrPort("192.0.2.1:6500"))
		want("Jonas")
		time.Sleep(indexHold)
		want("Major", "Jonas")
	})
}

func TestNamesOfAnIndexAreBounded(t *testing.T) {
	reg := newTestRegistry()
	long := make([]string, 60)
	for i := range long {
		long[i] = strings.Repeat("n", 1000)
	}
	for i := range maxNameBytes/60_000 + 10 {
		putPlayers(t, reg, "gmtest", fmt.Sprintf("192.0.%d.%d:6500", i/250, i%250+1), nil, long, nil)
	}
	if n := len(indexNames(reg, "gmtest").names); n > maxNameBytes || n < maxNameBytes-2000 {
		t.Errorf("an index has %d bytes of names, want at most %d", n, maxNameBytes)
	}
	n := &nameIndex{names: []byte{0}}
	n.fold(time.Now())
	for public, name := range n.find(SearchSubstring, "") {
		t.Errorf("an empty index finds %q on %v", name, public)
	}
}

// The searches of one address have a budget over all its connections; others
// are not affected, and the budget refills.
func TestSearchesOfAnAddressHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newTestRegistry()
		manyPlayers(t, reg, 300, 16)
		s := New(Options{Listing: part.Listing{Registry: reg}})
		client, other := netip.MustParseAddr("192.0.2.99"), netip.MustParseAddr("192.0.2.98")
		q := PlayerSearch{Name: "unknown"}
		spend := func() (n int) {
			for {
				if _, ok := s.search(client, "gmtest", q); !ok {
					return n
				}
				n++
			}
		}
		cost := searchBase + len(s.names("gmtest").names)
		if got, want := spend(), searchBurst/cost; got != want {
			t.Errorf("%d searches at once, want %d", got, want)
		}
		if _, ok := s.search(other, "gmtest", q); !ok {
			t.Error("another address pays for it")
		}
		time.Sleep(100 * time.Millisecond)
		if got, want := spend(), searchRate/10/cost; got < want-1 || got > want+1 {
			t.Errorf("%d searches a tenth of a second later, want %d", got, want)
		}
	})
}

func TestSearchOverTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		defer f.stop()
		putPlayers(t, f.reg, "gmtest", "192.0.2.1:6500", nil, []string{"Joe"}, nil)
		b := f.connect(t)
		b.ask(request(func(r *ListRequest) { r.Options = NoServerList }))
		q := PlayerSearch{Name: "joe"}
		msg, err := q.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			b.write(msg)
			if p := b.next(); len(p.Players) != want || !p.Final {
				t.Errorf("%d players, final %v, want %d", len(p.Players), p.Final, want)
			}
			var peer netip.Addr                    // a pipe has no address
			for n := searchBurst; n > 0; n /= 10 { // the rest of the budget
				for f.srv.searches.AllowN(peer, n, time.Now()) {
				}
			}
		}
		for result, want := range map[string]float64{searchAnswered: 1, searchSpent: 1, searchRated: 0} {
			if got := testutil.ToFloat64(f.srv.metrics.searches.WithLabelValues(result)); got != want {
				t.Errorf("searches with the result %s: %v, want %v", result, got, want)
			}
		}
	})
}

// manyPlayers lists servers with players whose names differ.
func manyPlayers(t testing.TB, reg *master.Registry, servers, players int) {
	t.Helper()
	for i := range servers {
		names := make([]string, players)
		for p := range names {
			names[p] = fmt.Sprintf("Player %d of %d", p, i)
		}
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 0x0A000000+uint32(i))
		putPlayers(t, reg, "gmtest", netip.AddrPortFrom(netip.AddrFrom4(a), 6500).String(), nil, names, nil)
	}
}

func BenchmarkSearch165000(b *testing.B) {
	reg := master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20, Servers: 1 << 20})
	manyPlayers(b, reg, 10_312, 16)
	for name, q := range map[string]PlayerSearch{
		"whole": {Name: "unknown"}, "start": {Name: "play unknown", Options: SearchPrefix}, "end": {Name: "er", Options: SearchSuffix},
		"part": {Name: "1 of unknown", Options: SearchSubstring}, "bad": {Name: "layer unknown", Options: SearchPrefix | SearchSuffix},
	} {
		b.Run("index/"+name, func(b *testing.B) {
			s := New(Options{Listing: part.Listing{Registry: reg}})
			s.searches = nil
			s.names("gmtest")
			for b.Loop() {
				s.search(netip.Addr{}, "gmtest", q)
			}
		})
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			lookAtAll(reg, "gmtest", 0, "unknown", maxFound)
		}
	})
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			indexNames(reg, "gmtest")
		}
	})
	b.Run("worst", func(b *testing.B) { // names that nearly match
		names := make([]string, 60)
		for i := range names {
			names[i] = strings.Repeat("a", 800)
		}
		worst := newTestRegistry()
		for i := range 170 {
			putPlayers(b, worst, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i+1), nil, names, nil)
		}
		n := indexNames(worst, "gmtest")
		for length, wanted := range map[string]string{"short": strings.Repeat("a", 30) + "b", "long": strings.Repeat("a", 700) + "b"} {
			b.Run(length, func(b *testing.B) {
				b.SetBytes(int64(len(n.names)))
				for b.Loop() {
					for range n.find(SearchSubstring, wanted) {
						b.Fatal("found")
					}
				}
			})
		}
	})
}
