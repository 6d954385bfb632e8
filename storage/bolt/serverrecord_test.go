package bolt

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// A list of an older version, in JSON and without an index, is read, and the
// first save writes it in the present form although no record has changed.
func TestListOfOlderVersion(t *testing.T) {
	path := copyFile(t, filepath.Join("testdata", "wholelist.db"), filepath.Join(t.TempDir(), "respawnd.db"))
	s := openAt(t, path)
	if at, err := s.ServersSavedAt(t.Context()); err != nil || !at.Equal(time.Date(2026, 11, 1, 12, 0, 30, 0, time.UTC)) {
		t.Errorf("ServersSavedAt() = %v, %v", at, err)
	}
	first := time.Date(2026, 11, 1, 11, 0, 0, 0, time.UTC)
	seen := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	one, two, three := netip.MustParseAddrPort("192.0.2.1:6500"), netip.MustParseAddrPort("[2001:db8::2%eth0]:6500"), netip.MustParseAddrPort("192.0.2.3:6500")
	want := []storage.Server{
		{
			Source: one, Via: netip.MustParseAddr("198.51.100.1"), Instance: 1, Game: "gmtest", Origin: "qr2", Public: one,
			Local: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:6500")}, NATNeg: true, Reachable: true, Country: "NZ", Region: "32",
			Rules: []byte("hostname\x00One\x00\x00"), First: first, Seen: seen.Add(500 * time.Millisecond),
		},
		{Source: two, Game: "gmtest", Origin: "static", Public: netip.MustParseAddrPort("[2001:db8::2]:6500"), First: first, Seen: seen.Add(time.Second)},
		{Source: three, Instance: 3, Game: "gmtest", Origin: "qr2", Public: three, First: first, Seen: seen.Add(2 * time.Second)},
	}
	check := func(when string, s *Store) {
		t.Helper()
		var got []storage.Server
		for v, err := range s.LoadServers(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got = append(got, v)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("the old list", s)

	asked := 0
	saved, err := s.SaveServers(t.Context(), func(yield func(storage.ListedServer) bool) {
		for i := range want {
			record := func() storage.Server { asked++; return want[i] }
			if !yield(storage.ListedServer{Source: want[i].Source, Seen: want[i].Seen, Record: record}) {
				return
			}
		}
	})
	if want := (storage.SavedServers{Servers: 3, Written: 3}); saved != want || err != nil || asked != 3 {
		t.Errorf("SaveServers() = %+v, %v, want %+v", saved, err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	check("the new list", s)
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations, want a segment and its index", n)
	}
}

// A save after a list was read in part writes the intact records again, so that the
// damage is gone.
func TestSaveRepairsDamagedList(t *testing.T) {
	s := openLoose(t)
	save(t, s, records(0, 1000))
	overwrite(t, s, []byte("?"), generationKey(0), bucketServers, string(generationKey(s.list.head.Segments[0].Generation)))
	if _, errs := load(t, s); len(errs) != 1 {
		t.Fatalf("errors = %v, want one", errs)
	}
	saved, err := s.SaveServers(t.Context(), unchangedRecords(0, 1000))
	if saved.Written != 1000 || err != nil {
		t.Errorf("SaveServers() = %+v, %v, want 1000 records written", saved, err)
	}
	if got, errs := load(t, s); len(got) != 1000 || len(errs) > 0 {
		t.Errorf("after it: %d records, %v", len(got), errs)
	}
	if saved, err := s.SaveServers(t.Context(), unchangedRecords(0, 1000)); saved.Written != 0 || err != nil {
		t.Errorf("the next SaveServers() = %+v, %v, want nothing written", saved, err)
	}
}

// unchangedRecords yields records that have not changed.
func unchangedRecords(first, n int) func(func(storage.ListedServer) bool) {
	return func(yield func(storage.ListedServer) bool) {
		for i := range n {
			v := record(first + i)
			if !yield(storage.ListedServer{Source: v.Source, Seen: v.Seen, Record: func() storage.Server { return v }}) {
				return
			}
		}
	}
}

// saveChanged saves the list of n records of which the first few changed.
func saveChanged(t *testing.T, s *Store, few, n int) {
	t.Helper()
	_, err := s.SaveServers(t.Context(), func(yield func(storage.ListedServer) bool) {
		i := 0
		for l := range unchangedRecords(0, n) {
			l.Changed = i < few
			if i++; !yield(l) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCompactServers(t *testing.T) {
	racetest.Skip(t, "stores many records")
	t.Run("many records replaced", func(t *testing.T) {
		s := openNew(t)
		saveChanged(t, s, 0, 1200)
		for range 2 {
			saveChanged(t, s, 1000, 1200)
			wantSegments(t, s, "before", len(s.list.head.Segments))
		}
		saveChanged(t, s, 1100, 1200)
		wantSegments(t, s, "after", 1)
	})
	t.Run("many segments", func(t *testing.T) {
		s := openNew(t)
		saveChanged(t, s, 0, 10)
		for range compactSegments - 2 {
			saveChanged(t, s, 1, 10)
		}
		wantSegments(t, s, "before", compactSegments-1)
		saveChanged(t, s, 1, 10)
		wantSegments(t, s, "after", 1)
	})
	t.Run("without compaction", func(t *testing.T) {
		s := openNew(t)
		for range maxSegments + 1 {
			saveChanged(t, s, 1, 10)
		}
		if n := len(s.list.head.Segments); n != 1 {
			t.Errorf("%d segments, want one that a save wrote as a whole", n)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		s := openLoose(t)
		saveChanged(t, s, 0, 10)
		for range compactSegments {
			saveChanged(t, s, 1, 10)
		}
		overwrite(t, s, []byte("?"), generationKey(0), bucketServers, string(generationKey(s.list.head.Segments[0].Generation)))
		if err := s.CompactServers(t.Context()); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("CompactServers() = %v, want ErrDamaged", err)
		}
		saveChanged(t, s, 0, 10) // writes everything
		if got, errs := load(t, s); len(got) != 10 || len(errs) > 0 {
			t.Errorf("after the next save: %v, %v", got, errs)
		}
	})
}

// wantSegments compacts and checks how many segments there are then.
func wantSegments(t *testing.T, s *Store, when string, want int) {
	t.Helper()
	before, _ := load(t, s)
	if err := s.CompactServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.list.head.Segments); n != want {
		t.Errorf("%s: %d segments, want %d", when, n, want)
	}
	if n := generations(t, s); n != want+1 {
		t.Errorf("%s: %d generations, want the segments and an index", when, n)
	}
	after, errs := load(t, s)
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) || len(errs) > 0 {
		t.Errorf("%s: %d records and %v, want the same %d", when, len(after), errs, len(before))
	}
}

func FuzzDecodeServer(f *testing.F) {
	full := record(1)
	full.Local, full.Via, full.Public = []netip.AddrPort{full.Source, full.Source}, full.Source.Addr(), full.Source
	f.Add(appendServer(nil, &full))
	f.Add(appendServer(nil, &storage.Server{}))
	f.Add(appendLeftOut(nil, full.Source))
	f.Add([]byte(`{"game":"a"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, kept, err := decodeServer(b)
		if err != nil {
			if !errors.Is(err, storage.ErrDamaged) {
				t.Fatalf("decodeServer() = %v, want ErrDamaged", err)
			}
			return
		}
		if source, err := recordSource(b); kept && (err != nil || source != s.Source) {
			t.Fatalf("recordSource() = %v, %v, want %v", source, err, s.Source)
		}
		if !kept || b[0] == '{' {
			return
		}
		again, _, err := decodeServer(appendServer(nil, &s))
		if diff := cmp.Diff(s, again, cmpopts.EquateComparable(netip.AddrPort{}, netip.Addr{})); err != nil || diff != "" {
			t.Errorf("%v, differs (-first +second):\n%s", err, diff)
		}
	})
}

func FuzzDecodeSeen(f *testing.F) {
	f.Add(appendSeen(nil, record(1).Source, time.Unix(1, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		source, seen, err := decodeSeen(b)
		if err != nil {
			return
		}
		if again, at, err := decodeSeen(appendSeen(nil, source, seen)); again != source || !at.Equal(seen) || err != nil {
			t.Errorf("decodeSeen() of %v, %v = %v, %v, %v", source, seen, again, at, err)
		}
	})
}
