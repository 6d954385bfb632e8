package storagetest

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// server returns a full record of about one kilobyte; n makes it unlike others.
func server(n int) storage.Server {
	public := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), uint16(1+n%65535))
	return storage.Server{
		Source:    public,
		Via:       netip.MustParseAddr("2001:db8::1"),
		Instance:  uint32(n),
		Game:      "gmtest",
		Origin:    "qr2",
		Public:    public,
		Local:     []netip.AddrPort{netip.MustParseAddrPort("192.168.1.2:7777"), netip.MustParseAddrPort("[fe80::1]:7777")},
		NATNeg:    true,
		Reachable: n%2 == 0,
		Reached:   "perhaps",
		Country:   "NZ",
		Region:    "oceania",
		Rules:     []byte("hostname\x00\xff\xfe r\xe9spawn\x00" + strings.Repeat("rule\x00value\x00", 50)),
		Report:    []byte("hostname\x00as it came\x00\x00\x00\x00\x00\x00"),
		Players:   []byte("alice\x0010\x00bob\x0020\x00"),
		Teams:     []byte{0},
		First:     moment(),
		Seen:      moment().Add(time.Hour),
	}
}

// save saves a list of which every record must be kept.
func save(t *testing.T, s storage.Store, list []storage.Server) {
	t.Helper()
	saved, err := s.SaveServers(t.Context(), WholeList(slices.Values(list)))
	if err != nil || saved.Servers != len(list) {
		t.Fatalf("SaveServers(%d servers) = %+v, %v", len(list), saved, err)
	}
}

// manyServers yields servers from first on: more than fits into one step of
// any engine.
func manyServers(first, count int) iter.Seq[storage.Server] {
	return func(yield func(storage.Server) bool) {
		for i := range count {
			if !yield(server(first + i)) {
				return
			}
		}
	}
}

// instances returns the instance keys of a saved list.
func instances(t *testing.T, s storage.Store) []uint32 {
	t.Helper()
	var got []uint32
	for _, v := range collect(t, s.LoadServers(t.Context())) {
		got = append(got, v.Instance)
	}
	return got
}

// count returns first, first+1 ... of n numbers.
func count(first, n int) []uint32 {
	var all []uint32
	for i := range n {
		all = append(all, uint32(first+i))
	}
	return all
}

func serverTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"nothing was saved yet":                           testNoServers,
		"records come back as they were":                  testServerRoundTrip,
		"a new list replaces the old one":                 testServersReplace,
		"an empty list replaces the old one":              testServersEmpty,
		"records beyond the limits are left out":          testServerLimits,
		"a cancelled save leaves the old list":            testServersCancelled,
		"a reader sees the old list while one is saved":   testServersWhileSaving,
		"a list that is replaced is read to its end":      testServersReplacedWhileReading,
		"readers and savers at once never see a mixture":  testServersRace,
		"the loop body of LoadServers may save":           testServersSaveInLoop,
		"a LoadServers loop may be left early":            testServersLeaveLoop,
		"a save that waits for another heeds its context": testServersWait,
		"only records that changed are written":           testServersChanged,
		"saves and compactions keep the list":             testServersModel,
		"what breaks the limits is not the old record":    testServerLeftOutLater,
	}
}

func testNoServers(t *testing.T, s storage.Store) {
	if got := collect(t, s.LoadServers(t.Context())); len(got) != 0 {
		t.Errorf("LoadServers() = %v, want nothing", got)
	}
}

func testServerRoundTrip(t *testing.T, s storage.Store) {
	list := []storage.Server{
		server(3), server(1), server(2),
		{Source: netip.MustParseAddrPort("[2001:db8::2%eth0]:1"), Game: "x"},
	}
	save(t, s, list)
	got := collect(t, s.LoadServers(t.Context()))
	differ(t, "servers", got, list)
	if zone := got[0].First.Location(); zone != time.UTC {
		t.Errorf("First is in %v, want UTC", zone)
	}
}

func testServersReplace(t *testing.T, s storage.Store) {
	for round := range 3 {
		list := []storage.Server{server(10 * round), server(10*round + 1)}
		save(t, s, list)
		differ(t, "servers", collect(t, s.LoadServers(t.Context())), list)
	}
}

func testServersEmpty(t *testing.T, s storage.Store) {
	save(t, s, []storage.Server{server(1)})
	save(t, s, nil)
	if got := instances(t, s); len(got) != 0 {
		t.Errorf("LoadServers() = %v, want nothing", got)
	}
}

func testServerLimits(t *testing.T, s storage.Store) {
	edge := server(1)
	edge.Rules = make([]byte, storage.MaxServerSections-3)
	edge.Players, edge.Teams, edge.Report = []byte{1}, []byte{2}, []byte{3}
	edge.Game = strings.Repeat("g", storage.MaxServerWord)
	edge.Local = slices.Repeat(edge.Local[:1], storage.MaxServerLocal)

	broken := map[string]func(*storage.Server){
		"sections":    func(v *storage.Server) { v.Teams = []byte{2, 3} },
		"game":        func(v *storage.Server) { v.Game += "g" },
		"no game":     func(v *storage.Server) { v.Game = "" },
		"local":       func(v *storage.Server) { v.Local = append(v.Local, v.Public) },
		"no source":   func(v *storage.Server) { v.Source = netip.AddrPort{} },
		"not UTF-8":   func(v *storage.Server) { v.Region = "\xff" },
		"control":     func(v *storage.Server) { v.Country = "N\x00" },
		"long origin": func(v *storage.Server) { v.Origin = strings.Repeat("o", storage.MaxServerWord+1) },
	}
	list := []storage.Server{edge}
	for name, spoil := range broken {
		v := edge
		v.Local = slices.Clone(v.Local)
		spoil(&v)
		wantErr(t, v.Check(), storage.ErrInvalid, "%s: Check()", name)
		list = append(list, v)
	}
	list = append(list, server(2))
	saved, err := s.SaveServers(t.Context(), WholeList(slices.Values(list)))
	if want := (storage.SavedServers{Servers: 2, Written: 2}); saved != want || err != nil {
		t.Errorf("SaveServers() = %+v, %v, want %+v", saved, err, want)
	}
	differ(t, "servers", collect(t, s.LoadServers(t.Context())), []storage.Server{edge, server(2)})
}

func testServersCancelled(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	save(t, s, []storage.Server{server(1)})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.SaveServers(ctx, WholeList(func(yield func(storage.Server) bool) {
		for v := range manyServers(100, 6000) {
			if v.Instance == 6000 {
				cancel()
			}
			if !yield(v) {
				return
			}
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("SaveServers() = %v, want context.Canceled", err)
	}
	differ(t, "instances", instances(t, s), []uint32{1})
}

func testServersWhileSaving(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	save(t, s, []storage.Server{server(1), server(2)})
	saved, err := s.SaveServers(t.Context(), WholeList(func(yield func(storage.Server) bool) {
		for v := range manyServers(100, 6000) {
			if v.Instance%1000 == 0 {
				differ(t, "instances in mid save", instances(t, s), []uint32{1, 2})
			}
			if !yield(v) {
				return
			}
		}
	}))
	if saved.Servers != 6000 || err != nil {
		t.Fatalf("SaveServers() = %+v, %v", saved, err)
	}
	differ(t, "instances", instances(t, s), count(100, 6000))
}

func testServersReplacedWhileReading(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	noErr(t, errOf(s.SaveServers(t.Context(), WholeList(manyServers(0, 2000)))))
	next, stop := iter.Pull2(s.LoadServers(t.Context()))
	defer stop()
	got := []uint32{}
	for v, err, ok := next(); ok; v, err, ok = next() {
		if err != nil {
			t.Fatalf("after %d records: %v", len(got), err)
		}
		if len(got) == 10 {
			save(t, s, []storage.Server{server(7)})
			save(t, s, []storage.Server{server(8)})
		}
		got = append(got, v.Instance)
	}
	differ(t, "the old list", got, count(0, 2000))
	differ(t, "the new list", instances(t, s), []uint32{8})
}

func testServersRace(t *testing.T, s storage.Store) {
	large(t)
	save(t, s, []storage.Server{server(0), server(1)})
	rounds := 5
	if racetest.RaceDetector {
		rounds = 2
	}
	errs := race(func(i int) error {
		for range rounds {
			if i%2 == 0 {
				if _, err := s.SaveServers(t.Context(), WholeList(manyServers(1000*i, 600+i))); err != nil {
					return err
				}
				continue
			}
			if err := checkWhole(s.LoadServers(t.Context())); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// checkWhole checks that a list is one that testServersRace saves.
func checkWhole(seq iter.Seq2[storage.Server, error]) error {
	var got []uint32
	for v, err := range seq {
		if err != nil {
			return err
		}
		got = append(got, v.Instance)
	}
	if len(got) == 0 {
		return errors.New("the list is empty")
	}
	first, want := int(got[0]), 2
	if len(got) > 2 {
		want = 600 + first/1000
	}
	if !slices.Equal(got, count(first, want)) {
		return errors.New("the list is a mixture")
	}
	return nil
}

func testServersSaveInLoop(t *testing.T, s storage.Store) {
	save(t, s, []storage.Server{server(1), server(2)})
	for v, err := range s.LoadServers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		save(t, s, []storage.Server{server(int(v.Instance) + 10)})
	}
	differ(t, "instances", instances(t, s), []uint32{12})
}

func testServersLeaveLoop(t *testing.T, s storage.Store) {
	save(t, s, []storage.Server{server(1), server(2)})
	for _, err := range s.LoadServers(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	save(t, s, []storage.Server{server(3)})
	differ(t, "instances", instances(t, s), []uint32{3})
}

func testServersWait(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.SaveServers(t.Context(), WholeList(func(yield func(storage.Server) bool) {
		cancel()
		if _, err := s.SaveServers(ctx, WholeList(manyServers(0, 1))); !errors.Is(err, context.Canceled) {
			t.Errorf("the inner SaveServers() = %v, want context.Canceled", err)
		}
		yield(server(5))
	}))
	if err != nil {
		t.Fatalf("the outer SaveServers() = %v", err)
	}
	differ(t, "instances", instances(t, s), []uint32{5})
}

// unchanged returns a server of a list whose record must not be requested.
func unchanged(t *testing.T, v storage.Server) storage.ListedServer {
	return storage.ListedServer{Source: v.Source, Seen: v.Seen, Record: func() storage.Server {
		t.Errorf("the record of %v was asked for, which had not changed", v.Source)
		return v
	}}
}

// changed returns a server of a list whose record changed.
func changed(v storage.Server) storage.ListedServer {
	return storage.ListedServer{Source: v.Source, Seen: v.Seen, Changed: true, Record: func() storage.Server { return v }}
}

// wantServers compares the saved list without regard to its order.
func wantServers(t *testing.T, s storage.Store, want []storage.Server) {
	t.Helper()
	order := func(a, b storage.Server) int { return a.Source.Compare(b.Source) }
	got := slices.SortedFunc(slices.Values(collect(t, s.LoadServers(t.Context()))), order)
	differ(t, "servers", got, slices.SortedFunc(slices.Values(want), order))
}

func testServersChanged(t *testing.T, s storage.Store) {
	a, b, c, d := server(1), server(2), server(3), server(4)
	save(t, s, []storage.Server{a, b, c})
	b.Rules, b.Instance = []byte("hostname\x00another\x00"), 77
	a.Seen = a.Seen.Add(time.Second + 7)
	saved, err := s.SaveServers(t.Context(), slices.Values([]storage.ListedServer{unchanged(t, a), changed(b), changed(d)}))
	if want := (storage.SavedServers{Servers: 3, Written: 2}); saved != want || err != nil {
		t.Errorf("SaveServers() = %+v, %v, want %+v", saved, err, want)
	}
	wantServers(t, s, []storage.Server{a, b, d})

	noErr(t, errOf(s.SaveServers(t.Context(), slices.Values([]storage.ListedServer{unchanged(t, d)}))))
	wantServers(t, s, []storage.Server{d})
}

// testServersModel saves many lists of which parts change, and compares each
// with the saved list.
func testServersModel(t *testing.T, s storage.Store) {
	racetest.Skip(t, "saves many lists")
	list := make(map[netip.AddrPort]storage.Server)
	for round := range 150 {
		var next []storage.ListedServer
		want := make(map[netip.AddrPort]storage.Server)
		for n := range 40 {
			v := server(n)
			old, had := list[v.Source]
			switch uint32(round*40+n) * 2654435761 >> 16 % 20 { // as good as random
			case 0: // it is gone
			case 1:
				v.Instance = uint32(round)
				want[v.Source] = v
				next = append(next, changed(v))
			default:
				if !had {
					continue
				}
				old.Seen = old.Seen.Add(time.Second)
				want[v.Source] = old
				next = append(next, storage.ListedServer{Source: old.Source, Seen: old.Seen, Record: func() storage.Server { return old }})
			}
		}
		if saved, err := s.SaveServers(t.Context(), slices.Values(next)); err != nil || saved.Servers != len(next) {
			t.Fatalf("round %d: SaveServers() = %+v, %v, want %d servers", round, saved, err, len(next))
		}
		if round%7 == 0 {
			if err := s.CompactServers(t.Context()); err != nil {
				t.Fatalf("round %d: CompactServers() = %v", round, err)
			}
		}
		wantServers(t, s, slices.Collect(maps.Values(want)))
		list = want
	}
}

func testServerLeftOutLater(t *testing.T, s storage.Store) {
	save(t, s, []storage.Server{server(1), server(2)})
	broken := server(1)
	broken.Game = ""
	stays := server(2)
	for range 3 {
		_, err := s.SaveServers(t.Context(), slices.Values([]storage.ListedServer{changed(broken), unchanged(t, stays)}))
		if err != nil {
			t.Fatal(err)
		}
		wantServers(t, s, []storage.Server{stays})
	}
	noErr(t, errOf(s.SaveServers(t.Context(), slices.Values([]storage.ListedServer{unchanged(t, broken), unchanged(t, stays)}))))
	wantServers(t, s, []storage.Server{stays})
}

// WholeList yields servers as a list of which every record has changed.
func WholeList(servers iter.Seq[storage.Server]) iter.Seq[storage.ListedServer] {
	return func(yield func(storage.ListedServer) bool) {
		for s := range servers {
			if !yield(storage.ListedServer{Source: s.Source, Seen: s.Seen, Changed: true, Record: func() storage.Server { return s }}) {
				return
			}
		}
	}
}
