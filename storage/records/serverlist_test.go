package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// record returns a server of about one kilobyte.
func record(n int) storage.Server {
	return storage.Server{
		Source:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n >> 16)}), uint16(n)),
		Instance: uint32(n), Game: "gmtest", Origin: "qr2",
		Rules: bytes.Repeat([]byte("rule\x00value\x00"), 50), First: time.Now(), Seen: time.Now(),
	}
}

func records(first, n int) iter.Seq[storage.Server] {
	return func(yield func(storage.Server) bool) {
		for i := range n {
			if !yield(record(first + i)) {
				return
			}
		}
	}
}

func save(tb testing.TB, s *Store, list iter.Seq[storage.Server]) {
	tb.Helper()
	if _, err := s.SaveServers(tb.Context(), storagetest.WholeList(list)); err != nil {
		tb.Fatalf("SaveServers() = %v", err)
	}
}

// load returns the instances of the saved list and the errors in it.
func load(tb testing.TB, s *Store) (instances []uint32, errs []error) {
	tb.Helper()
	for v, err := range s.LoadServers(tb.Context()) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		instances = append(instances, v.Instance)
	}
	return instances, errs
}

// generations returns how many generations are stored for the node of a store.
func generations(t *testing.T, s *Store) int {
	t.Helper()
	found := make(map[string]bool)
	prefix := s.chunkKey(0, 0)
	prefix = prefix[:len(prefix)-16]
	keys, err := look(t.Context(), s, func(v *view) [][]byte { return v.keys(engine.Prefix(tableServers, prefix)) })
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		found[string(key[len(prefix):len(prefix)+8])] = true
	}
	return len(found)
}

// headOf returns the head of the list of a store.
func headOf(t *testing.T, s *Store) listHead {
	t.Helper()
	head, err := s.readHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// again returns another store in the engine of one, as after a crash.
func again(s *Store) *Store { return New(s.eng, s.opt) }

// unchangedRecords yields records that have not changed.
func unchangedRecords(first, n int) iter.Seq[storage.ListedServer] {
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

// A list of an older version, in JSON and without an index, is read, and the
// first save writes it in the present form although no record has changed.
func TestListOfOlderVersion(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 30, 0, time.UTC)
	one, two := netip.MustParseAddrPort("192.0.2.1:6500"), netip.MustParseAddrPort("[2001:db8::2%eth0]:6500")
	want := []storage.Server{
		{
			Source: one, Via: netip.MustParseAddr("198.51.100.1"), Instance: 1, Game: "gmtest", Origin: "qr2", Public: one,
			NATNeg: true, Reachable: true, Rules: []byte("hostname\x00One\x00\x00"), First: at.Add(-time.Hour), Seen: at.Add(500 * time.Millisecond),
		},
		{Source: two, Game: "gmtest", Origin: "static", First: at, Seen: at.Add(time.Second)},
	}
	s := openNew(t)
	var chunk []byte
	for _, v := range want {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		chunk = appendToChunk(chunk, text)
	}
	damage(t, s, tableServers, s.chunkKey(7, 0), wrap(chunk))
	err := s.change(t.Context(), func(c *change) error {
		c.put(tableServers, s.listHeadKey(), listHead{Generation: 7, Chunks: 1, Saved: at})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
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
	check("the old list")

	asked := 0
	saved, err := s.SaveServers(t.Context(), func(yield func(storage.ListedServer) bool) {
		for i := range want {
			record := func() storage.Server { asked++; return want[i] }
			if !yield(storage.ListedServer{Source: want[i].Source, Seen: want[i].Seen, Record: record}) {
				return
			}
		}
	})
	if want := (storage.SavedServers{Servers: 2, Written: 2}); saved != want || err != nil || asked != 2 {
		t.Errorf("SaveServers() = %+v, %v, want %+v", saved, err, want)
	}
	check("the new list")
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations, want a segment and its index", n)
	}
}

// Each node has a list of its own.
func TestNodesHaveTheirOwnLists(t *testing.T) {
	eng := &memory.Engine{}
	nodes := make(map[string]*Store)
	for i, name := range []string{"", "a", "ab", "b"} {
		nodes[name] = openIn(t, eng, Options{Shared: true, Node: name})
		save(t, nodes[name], records(i, 3+i))
	}
	for range 3 { // the other lists stay
		save(t, nodes["a"], records(1, 4))
		if err := nodes["a"].CompactServers(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"", "a", "ab", "b"} {
		got, errs := load(t, again(nodes[name]))
		if len(got) != 3+i || got[0] != uint32(i) || len(errs) > 0 {
			t.Errorf("node %q has %v, %v, want %d servers from %d on", name, got, errs, 3+i, i)
		}
		if n := generations(t, nodes[name]); n != 2 {
			t.Errorf("node %q has %d generations, want a segment and its index", name, n)
		}
	}
	if got, errs := load(t, New(eng, Options{Node: "c"})); len(got)+len(errs) > 0 {
		t.Errorf("a new node has %v, %v", got, errs)
	}
}

// What a save wrote before a crash is removed by the next save.
func TestUnfinishedSave(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 2))
	func() {
		defer func() { _ = recover() }()
		save(t, s, func(yield func(storage.Server) bool) {
			for v := range records(0, 12000) {
				if v.Instance == 9000 {
					panic("a crash")
				}
				if !yield(v) {
					return
				}
			}
		})
	}()
	if n := generations(t, s); n != 3 {
		t.Fatalf("%d generations, want 3", n)
	}
	s = again(s)
	if got, errs := load(t, s); len(got) != 2 || len(errs) > 0 {
		t.Errorf("%d records and %v, want the old list", len(got), errs)
	}
	save(t, s, records(0, 1))
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations after the next save, want 2", n)
	}
}

func TestCancelledSaveLeavesNothingBehind(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 2))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.SaveServers(ctx, storagetest.WholeList(func(yield func(storage.Server) bool) {
		for v := range records(0, 12000) {
			if v.Instance == 9000 {
				cancel()
			}
			if !yield(v) {
				return
			}
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("SaveServers() = %v, want context.Canceled", err)
	}
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations, want a segment and its index", n)
	}
}

// uncertain is an engine whose next change has an unknown result after some others.
type uncertain struct {
	memory.Engine
	after int
	done  bool // the change happened
}

func (u *uncertain) Update(ctx context.Context, change func(engine.Tx) error) error {
	if u.after--; u.after != 0 {
		return u.Engine.Update(ctx, change)
	}
	err := u.Engine.Update(ctx, func(tx engine.Tx) error {
		if err := change(tx); err != nil || u.done {
			return err
		}
		return engine.ErrUnavailable
	})
	return errors.Join(err, engine.ErrUnavailable)
}

// A save of which it is not known whether it happened leaves the old list or the new one.
func TestUncertainSave(t *testing.T) {
	for _, done := range []bool{false, true} {
		for _, after := range []int{1, 2, 3} { // the last one is the step that makes the list
			eng := &uncertain{done: done}
			s := openIn(t, eng, Options{})
			save(t, s, records(0, 2))
			eng.after = after
			_, err := s.SaveServers(t.Context(), storagetest.WholeList(records(10, 16000)))
			if !errors.Is(err, storage.ErrUnavailable) {
				t.Fatalf("SaveServers() = %v, want ErrUnavailable", err)
			}
			want := 2
			if after == 3 && done {
				want = 16000
			}
			if got, errs := load(t, s); len(got) != want || len(errs) > 0 {
				t.Errorf("step %d: %d records and %v, want %d", after, len(got), errs, want)
			}
			save(t, s, records(0, 1))
			if n := generations(t, s); n != 2 {
				t.Errorf("step %d: %d generations after the next save, want a segment and its index", after, n)
			}
		}
	}
}

func TestGenerationIsKeptWhileRead(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 1000))
	next, stop := iter.Pull2(s.LoadServers(t.Context()))
	if v, err, ok := next(); err != nil || !ok {
		t.Fatalf("the first record is %+v, %v", v, err)
	}
	save(t, s, records(0, 1))
	if n := generations(t, s); n != 4 {
		t.Errorf("%d generations while the old list is read, want 4", n)
	}
	stop()
	save(t, s, records(0, 1))
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations after the reader left, want 2", n)
	}
	if n := len(s.list.reading); n != 0 {
		t.Errorf("%d generations have readers, want none", n)
	}
}

func TestChunksKeepTheirSize(t *testing.T) {
	s := openNew(t)
	largest := record(1)
	largest.Rules = bytes.Repeat([]byte{0xff}, storage.MaxServerSections)
	largest.Local = slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535")},
		storage.MaxServerLocal)
	for _, word := range []*string{&largest.Game, &largest.Origin, &largest.Country, &largest.Region} {
		*word = strings.Repeat("<", storage.MaxServerWord) // grows most in JSON
	}
	list := slices.Collect(records(0, 1040))
	for i := range 40 {
		source := list[i].Source
		list[i] = largest
		list[i].Source = source
	}
	save(t, s, slices.Values(list))
	if got, errs := load(t, s); len(got) != 1040 || len(errs) > 0 {
		t.Fatalf("%d records, %v, want 1040", len(got), errs)
	}
	err := s.view(t.Context(), func(v *view) error {
		for e := range v.scan(whole(tableServers)) {
			if len(e.Value) > ChunkSize {
				t.Errorf("%q has %d bytes, want at most %d", e.Key, len(e.Value), ChunkSize)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamagedChunkLosesOnlyItself(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 1000))
	whole, _ := load(t, s)
	damage(t, s, tableServers, s.chunkKey(headOf(t, s).Segments[0].Generation, 1), []byte("not a chunk"))
	got, errs := load(t, s)
	if len(errs) != 1 || !isDamage(errs[0]) {
		t.Fatalf("errors = %v, want one ErrDamaged", errs)
	}
	if len(got) == 0 || len(got) >= len(whole) || got[0] != 0 || got[len(got)-1] != 999 {
		t.Errorf("%d of %d records, want the chunks before and after the damage", len(got), len(whole))
	}
	if n, err := s.SaveServers(t.Context(), storagetest.WholeList(records(0, 3))); n.Servers != 3 || err != nil {
		t.Errorf("SaveServers() over a damaged list = %+v, %v", n, err)
	}
}

// Chunks that are missing one after another are one error.
func TestMissingChunks(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 4000))
	of := headOf(t, s).Segments[0]
	if of.Chunks < 8 {
		t.Fatalf("%d chunks, want more", of.Chunks)
	}
	err := s.change(t.Context(), func(c *change) error {
		for _, n := range []uint64{0, 2, 3, 4, 5, of.Chunks - 1} {
			c.delete(tableServers, s.chunkKey(of.Generation, n))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, errs := load(t, s)
	if len(errs) != 3 || len(got) == 0 {
		t.Errorf("%d records and %v, want 3 errors", len(got), errs)
	}
}

func TestDamagedRecordInChunkLosesOnlyItself(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 3))
	first, second, third := record(0), record(1), record(2)
	chunk := appendToChunk(nil, appendServer(nil, &first))
	chunk = appendToChunk(chunk, appendServer(nil, &second)[:20])
	chunk = appendToChunk(chunk, []byte(`{"game":5}`))
	chunk = appendToChunk(chunk, appendServer(nil, &third))
	damage(t, s, tableServers, s.chunkKey(headOf(t, s).Segments[0].Generation, 0), wrap(chunk))
	got, errs := load(t, s)
	if len(got) != 2 || len(errs) != 2 || !isDamage(errs[0]) || !isDamage(errs[1]) {
		t.Errorf("LoadServers() = %v, %v, want 2 records and two ErrDamaged", got, errs)
	}
}

func TestDamagedListHeadLosesOnlyTheList(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 2))
	damage(t, s, tableServers, s.listHeadKey(), []byte("?"))
	if _, errs := load(t, s); len(errs) != 1 || !isDamage(errs[0]) {
		t.Errorf("errors = %v, want one ErrDamaged", errs)
	}
	if err := s.CompactServers(t.Context()); err != nil {
		t.Errorf("CompactServers() = %v", err)
	}
	save(t, s, records(0, 2))
	if got, errs := load(t, s); len(got) != 2 || len(errs) != 0 {
		t.Errorf("after a new save: %v, %v", got, errs)
	}
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations after it, want 2", n)
	}
}

// A save after a list was read in part writes the intact records again, so that the
// damage is gone.
func TestSaveRepairsDamagedList(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 1000))
	damage(t, s, tableServers, s.chunkKey(headOf(t, s).Segments[0].Generation, 0), []byte("?"))
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

func TestCompactServers(t *testing.T) {
	racetest.Skip(t, "stores many records")
	t.Run("many records replaced", func(t *testing.T) {
		s := openNew(t)
		saveChanged(t, s, 0, 1200)
		for range 2 {
			saveChanged(t, s, 1000, 1200)
			wantSegments(t, s, "before", len(headOf(t, s).Segments))
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
		if n := len(headOf(t, s).Segments); n != 1 {
			t.Errorf("%d segments, want one that a save wrote as a whole", n)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		s := openNew(t)
		saveChanged(t, s, 0, 10)
		for range compactSegments {
			saveChanged(t, s, 1, 10)
		}
		damage(t, s, tableServers, s.chunkKey(headOf(t, s).Segments[0].Generation, 0), []byte("?"))
		if err := s.CompactServers(t.Context()); !isDamage(err) {
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
	if n := len(headOf(t, s).Segments); n != want {
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

// releasing is an engine that can give memory back.
type releasing struct {
	memory.Engine
	released int
}

func (r *releasing) Release(context.Context) error { r.released++; return nil }

func TestCompactServersReleasesMemory(t *testing.T) {
	eng := &releasing{}
	if err := openIn(t, eng, Options{}).CompactServers(t.Context()); err != nil || eng.released != 1 {
		t.Errorf("CompactServers() = %v and released memory %d times, want once", err, eng.released)
	}
}

func BenchmarkSaveServers10000(b *testing.B) {
	s := openNew(b)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := s.SaveServers(b.Context(), storagetest.WholeList(records(0, 10000))); n.Servers != 10000 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkLoadServers10000(b *testing.B) {
	s := openNew(b)
	save(b, s, records(0, 10000))
	b.ReportAllocs()
	for b.Loop() {
		if got, errs := load(b, s); len(got) != 10000 || len(errs) > 0 {
			b.Fatal(len(got), errs)
		}
	}
}
