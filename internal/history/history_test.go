package history

import (
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
)

func key(n int) Key {
	return Key{Origin: "qr2", Public: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 6500)}
}

// noon is on the boundary of a step of every span.
func noon() time.Time { return time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC) }

// sample reports servers of one game with their players at a time.
func sample(b *Book, at time.Time, players map[Key]int) {
	r := b.Begin(at)
	for k, n := range players {
		r.Add(k, "gmtest", n)
	}
	r.End()
}

// expect compares the last day of a server.
func expect(t *testing.T, b *Book, k Key, first time.Time, want ...int) {
	t.Helper()
	expectSpan(t, b, k, Day, first, want...)
}

func expectSpan(t *testing.T, b *Book, k Key, s Span, first time.Time, want ...int) {
	t.Helper()
	got, ok := b.Of(k, s)
	if !ok || !got.First.Equal(first) || !slices.Equal(got.Players, want) || got.Step != s.Step() {
		t.Errorf("Of(%v, %v) = %v from %v, %v; want %v from %v", k.Public, s, got.Players, got.First, ok, want, first)
	}
}

func TestSpans(t *testing.T) {
	for s, want := range map[Span]struct {
		text         string
		step, length time.Duration
	}{
		Day: {"24h", 5 * time.Minute, 24 * time.Hour}, Week: {"7d", time.Hour, 7 * 24 * time.Hour}, Month: {"30d", 4 * time.Hour, 30 * 24 * time.Hour},
	} {
		if got, ok := ParseSpan(want.text); s.String() != want.text || got != s || !ok || s.Step() != want.step || s.Length() != want.length {
			t.Errorf("span %d: %s, steps of %v, %v in all; want %+v", s, s, s.Step(), s.Length(), want)
		}
	}
	if _, ok := ParseSpan("1y"); ok {
		t.Error("ParseSpan(1y) is a span")
	}
	if got := time.Duration(longest) * Interval; got != Month.Length() {
		t.Errorf("servers are forgotten after %v, want %v", got, Month.Length())
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
	expect(t, b, two, noon().Add(Interval), 65534, 0, 0)
	if _, ok := b.Of(key(3), Day); ok {
		t.Error("Of a server that was never listed: got a series, want none")
	}
	other := one
	other.Origin = "zandronum"
	if _, ok := b.Of(other, Day); ok {
		t.Error("Of the same address with another origin: got a series, want none")
	}
}

func TestLongerStepsKeepTheLargest(t *testing.T) {
	b := NewBook()
	for i, n := range []int{3, 9, 2} {
		sample(b, noon().Add(time.Duration(i)*Interval), map[Key]int{key(1): n})
	}
	sample(b, noon().Add(time.Hour), map[Key]int{key(1): 5})
	sample(b, noon().Add(3*time.Hour), map[Key]int{key(1): 4})
	sample(b, noon().Add(5*time.Hour), map[Key]int{key(1): 1})
	expectSpan(t, b, key(1), Week, noon(), 9, 5, Away, 4, Away, 1)
	expectSpan(t, b, key(1), Month, noon(), 9, 1)
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
	if all := b.All(Day); !slices.Equal(all.Players, []int{2}) || !slices.Equal(all.Servers, []int{1}) {
		t.Errorf("All() = %+v, want 2 players on 1 server", all)
	}
}

// TestEachSpanIsKept fills more than 30 days and checks the remaining points.
func TestEachSpanIsKept(t *testing.T) {
	b := NewBook()
	const rounds = longest + 1000
	for i := range rounds {
		sample(b, noon().Add(time.Duration(i)*Interval), map[Key]int{key(1): i})
	}
	last := noon().Add((rounds - 1) * Interval)
	for _, s := range Spans() {
		got, _ := b.Of(key(1), s)
		first := last.Truncate(s.Step()).Add(s.Step() - s.Length())
		most := int(first.Add(s.Step()).Sub(noon())/Interval) - 1
		if len(got.Players) != s.Steps() || !got.First.Equal(first) || got.Players[0] != most || got.Players[s.Steps()-1] != rounds-1 {
			t.Errorf("%v: %d numbers from %v, %d to %d; want %d from %v, %d to %d", s, len(got.Players), got.First,
				got.Players[0], got.Players[len(got.Players)-1], s.Steps(), first, most, rounds-1)
		}
		if all, games := b.All(s), b.Games(s, "gmtest"); !slices.Equal(all.Players, got.Players) || !slices.Equal(games.Players, got.Players) || !all.First.Equal(first) {
			t.Errorf("%v: the totals of one server differ from it", s)
		}
	}
}

func TestServerIsForgottenAfter30Days(t *testing.T) {
	b := NewBook()
	sample(b, noon(), map[Key]int{key(1): 1, key(2): 1})
	last := noon().Add((longest - 1) * Interval)
	sample(b, last, map[Key]int{key(2): 2})
	if s, ok := b.Of(key(1), Month); !ok || len(s.Players) != monthSteps || s.Players[0] != 1 {
		t.Errorf("30 days less an interval later: got %v, %v; want 30 days that begin with 1", s, ok)
	}
	if _, ok := b.Of(key(1), Week); ok {
		t.Error("30 days less an interval later: got a week, want none")
	}
	sample(b, last.Add(Interval), map[Key]int{key(2): 3})
	if _, ok := b.Of(key(1), Month); ok {
		t.Error("30 days later: got a series, want none")
	}
	if n := b.Usage().Servers; n != 1 {
		t.Errorf("%d servers are remembered, want 1", n)
	}
	expect(t, b, key(2), last, 2, 3)
}

func TestClockSetBack(t *testing.T) {
	b := NewBook()
	sample(b, noon().Add(-2*time.Hour), map[Key]int{key(1): 9})
	sample(b, noon(), map[Key]int{key(1): 1, key(2): 1})
	sample(b, noon().Add(-time.Second), map[Key]int{key(1): 2}) // a small step does not count
	expectSpan(t, b, key(1), Week, noon().Add(-2*time.Hour), 9, Away, 2)
	sample(b, noon().Add(-time.Hour), map[Key]int{key(1): 3}) // the past stays, the future goes
	expectSpan(t, b, key(1), Week, noon().Add(-2*time.Hour), 9, 3)
	if _, ok := b.Of(key(2), Day); ok {
		t.Error("a server that was listed only in the future is remembered")
	}
	sample(b, noon().AddDate(-1, 0, 0), map[Key]int{key(3): 4})
	expect(t, b, key(3), noon().AddDate(-1, 0, 0), 4)
	if all := b.All(Month); !slices.Equal(all.Players, []int{4}) {
		t.Errorf("a year back: the total is %v, want the one sample", all.Players)
	}
	sample(b, time.Unix(0, 0), map[Key]int{key(3): 5})
	sample(b, time.Unix(-1e9, 0), map[Key]int{key(3): 6})
	expect(t, b, key(3), time.Unix(300, 0), 6)
}

func TestTotals(t *testing.T) {
	b := NewBook()
	one, two := key(1), key(2)
	r := b.Begin(noon())
	r.Add(one, "quake", 3)
	r.Add(two, "doom", 4)
	r.End()
	r = b.Begin(noon().Add(Interval))
	r.Add(one, "quake", 5)
	r.End()
	r = b.Begin(noon().Add(3 * Interval))
	r.End()
	check := func(what string, got Series, players, servers []int) {
		t.Helper()
		if !slices.Equal(got.Players, players) || !slices.Equal(got.Servers, servers) || !got.First.Equal(noon()) {
			t.Errorf("%s: got %+v, want %v players on %v servers from noon", what, got, players, servers)
		}
	}
	check("all", b.All(Day), []int{7, 5, Away, 0}, []int{2, 1, Away, 0})
	check("quake", b.Games(Day, "quake"), []int{3, 5, Away, 0}, []int{1, 1, Away, 0})
	check("doom", b.Games(Day, "doom"), []int{4, 0, Away, 0}, []int{1, 0, Away, 0})
	check("both", b.Games(Day, "doom", "quake", "doom", "nosuch"), []int{7, 5, Away, 0}, []int{2, 1, Away, 0})
	check("both, longer steps", b.Games(Week, "doom", "quake"), []int{9}, []int{2}) // 4 and 5, not at once
	if got := b.Games(Day, "nosuch"); len(got.Players) != 0 || got.Step != Interval {
		t.Errorf("a game without history: got %+v", got)
	}
	if got := NewBook().All(Day); len(got.Players) != 0 {
		t.Errorf("an empty book: got %+v", got)
	}
	r = b.Begin(noon().Add(4 * Interval)) // one that comes later
	r.Add(one, "late", 1)
	r.End()
	if got := b.Games(Day, "quake", "late"); !slices.Equal(got.Players, []int{3, 5, Away, 0, 1}) {
		t.Errorf("with a game that came later: got %v", got.Players)
	}
}

func TestServersAreBounded(t *testing.T) {
	racetest.Skip(t, "takes many samples")
	b := NewBook()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := b.Begin(noon())
	for i := range MaxServers {
		if !r.Add(key(i), "gmtest", 1) {
			t.Fatalf("server %d of %d has no room", i+1, MaxServers)
		}
	}
	if r.Add(key(MaxServers), "gmtest", 1) || !r.Add(key(0), "gmtest", 2) {
		t.Error("one server too many has room, or a known one has none")
	}
	r.End()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if u := b.Usage(); u.Servers != MaxServers || u.Refused != 1 || u.Evicted != 0 {
		t.Errorf("Usage() = %+v; want %d servers, 1 refused", u, MaxServers)
	}
	used, said := int64(after.HeapAlloc-before.HeapAlloc), b.Usage().Memory
	t.Logf("%d servers take %d KiB, %d KiB as reported", MaxServers, used>>10, said>>10)
	if used > 48<<20 || said > 48<<20 || said < used*8/10 {
		t.Errorf("%d servers take %d bytes, reported as %d; want at most 48 MiB, and a true report", MaxServers, used, said)
	}
	if all := b.All(Day); all.Servers[0] != 65534 && all.Servers[0] != MaxServers+2 { // counted, remembered or not
		t.Errorf("%d servers are counted, want all of them", all.Servers[0])
	}

	// The two that left give way to others, and those that are listed do not.
	r = b.Begin(noon().Add(Interval))
	for i := 2; i < MaxServers; i++ {
		r.Add(key(i), "gmtest", 1)
	}
	r.End()
	r = b.Begin(noon().Add(2 * Interval))
	r.Add(key(0), "gmtest", 5) // it came back
	added := 0
	for i := range 3 {
		if r.Add(key(MaxServers+i), "gmtest", 1) {
			added++
		}
	}
	r.End()
	u := b.Usage()
	_, one := b.Of(key(1), Day)
	_, two := b.Of(key(2), Day)
	if added != 1 || u.Evicted != 1 || u.Refused != 2 || one || !two {
		t.Errorf("%d of 3 have room, %+v, the one that left is there: %t, another: %t", added, u, one, two)
	}
}

func TestGamesAreBounded(t *testing.T) {
	b := NewBook()
	add := func(at time.Time, from, to int) {
		r := b.Begin(at)
		for i := from; i < to; i++ {
			r.Add(key(i), fmt.Sprint("game", i), 1)
		}
		r.End()
	}
	add(noon(), 0, MaxGames+5)
	if n := b.Usage().Games; n != MaxGames {
		t.Errorf("%d games are remembered, want %d", n, MaxGames)
	}
	add(noon().Add(Interval), MaxGames+5, MaxGames+6) // takes the room of one that left
	if n, got := b.Usage().Games, b.Games(Day, fmt.Sprint("game", MaxGames+5)); n != MaxGames || !slices.Equal(got.Players, []int{1}) {
		t.Errorf("a new game has %v among %d", got.Players, n)
	}
	if got := b.All(Day).Players; !slices.Equal(got, []int{MaxGames + 5, 1}) {
		t.Errorf("total %v, want every game counted", got)
	}
}

func TestSizes(t *testing.T) {
	if got := int64(reflect.TypeFor[track]().Size()); got > 1280 {
		t.Errorf("a track has %d bytes, want at most 1280, which is a class of the allocator", got)
	}
	if got := int64(reflect.TypeFor[total]().Size()); got > totalBytes {
		t.Errorf("a total has %d bytes, want at most %d", got, totalBytes)
	}
}

func BenchmarkRound10000(b *testing.B) {
	book, at := NewBook(), noon()
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(Interval)
		r := book.Begin(at)
		for i := range 10_000 {
			r.Add(key(i), "gmtest", i)
		}
		r.End()
	}
}
