package history

import (
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
)

func key(n int) Key {
	return Key{Public: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 6500)}
}

// noon is on the boundary of an interval.
func noon() time.Time { return time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC) }

// sample reports servers with their players at a time.
func sample(b *Book, at time.Time, players map[Key]int) {
	r := b.Begin(at)
	for k, n := range players {
		r.Add(k, n)
	}
}

func expect(t *testing.T, b *Book, k Key, first time.Time, want ...int) {
	t.Helper()
	s, ok := b.Of(k)
	if !ok || !s.First.Equal(first) || !slices.Equal(s.Players, want) {
		t.Errorf("Of(%v) = %v from %v, %v; want %v from %v", k.Public, s.Players, s.First, ok, want, first)
	}
}

func TestSamplesComeBackInOrder(t *testing.T) {
	b := NewBook()
	one, two := key(1), key(2)
	sample(b, noon(), map[Key]int{one: 3})
	sample(b, noon().Add(Interval), map[Key]int{one: 4, two: 70_000})
	sample(b, noon().Add(2*Interval), map[Key]int{two: -5})
	sample(b, noon().Add(3*Interval), map[Key]int{one: 5, two: 0})
	expect(t, b, one, noon(), 3, 4, Away, 5)
	expect(t, b, two, noon().Add(Interval), absent-1, 0, 0)
	if _, ok := b.Of(key(3)); ok {
		t.Error("Of a server that was never listed: got a series, want none")
	}
	other := one
	other.Origin = master.FromZandronum
	if _, ok := b.Of(other); ok {
		t.Error("Of the same address with another origin: got a series, want none")
	}
}

func TestSkippedIntervalsAreAway(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 1})
	sample(b, noon().Add(4*Interval), map[Key]int{key(1): 2})
	expect(t, b, key(1), noon(), 1, Away, Away, Away, 2)
}

func TestTwoSamplesInOneIntervalAreOne(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 1})
	sample(b, noon().Add(Interval-time.Second), map[Key]int{key(1): 2})
	expect(t, b, key(1), noon(), 2)
}

func TestADayIsKept(t *testing.T) {
	b := NewBook()
	for i := range Samples + 10 {
		sample(b, noon().Add(time.Duration(i)*Interval), map[Key]int{key(1): i})
	}
	s, _ := b.Of(key(1))
	if len(s.Players) != Samples || s.Players[0] != 10 || s.Players[Samples-1] != Samples+9 || !s.First.Equal(noon().Add(10*Interval)) {
		t.Errorf("after %d samples: got %d from %v, first %d, last %d; want the last %d",
			Samples+10, len(s.Players), s.First, s.Players[0], s.Players[len(s.Players)-1], Samples)
	}
}

func TestServerIsForgottenAfterADay(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 1, key(2): 1})
	last := noon().Add(time.Duration(Samples-1) * Interval)
	sample(b, last, map[Key]int{key(2): 2})
	if s, ok := b.Of(key(1)); !ok || len(s.Players) != Samples || s.Players[0] != 1 {
		t.Errorf("a day less an interval later: got %v, %v; want a day that begins with 1", s, ok)
	}
	sample(b, last.Add(Interval), map[Key]int{key(2): 3})
	if _, ok := b.Of(key(1)); ok {
		t.Error("a day later: got a series, want none")
	}
	if n, _ := b.Len(); n != 1 {
		t.Errorf("%d servers are remembered, want 1", n)
	}
	expect(t, b, key(2), last, 2, 3)
}

func TestClockSetBackForgets(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 1})
	sample(b, noon().Add(-time.Second), map[Key]int{key(1): 2}) // a small step does not count
	expect(t, b, key(1), noon(), 2)
	sample(b, noon().Add(-time.Hour), map[Key]int{key(1): 3})
	expect(t, b, key(1), noon().Add(-time.Hour), 3)
}

func TestServersAreBounded(t *testing.T) {
	b := NewBook()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := b.Begin(noon())
	for i := range MaxServers {
		if !r.Add(key(i), 1) {
			t.Fatalf("server %d of %d has no room", i+1, MaxServers)
		}
	}
	if r.Add(key(MaxServers), 1) || !r.Add(key(0), 2) {
		t.Error("one server too many has room, or a known one has none")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n, refused := b.Len(); n != MaxServers || refused != 1 {
		t.Errorf("Len() = %d, %d; want %d, 1", n, refused, MaxServers)
	}
	used := (after.HeapAlloc - before.HeapAlloc) >> 20
	t.Logf("%d servers take %d MiB", MaxServers, used)
	if used > 64 {
		t.Errorf("%d servers take %d MiB, want at most 64", MaxServers, used)
	}
}

func BenchmarkRound10000(b *testing.B) {
	book, at := NewBook(), noon()
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(Interval)
		r := book.Begin(at)
		for i := range 10_000 {
			r.Add(key(i), i)
		}
	}
}
