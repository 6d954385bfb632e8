package master

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
)

// maxBytesPerServer limits the memory of one listed server that reports 1,000 bytes:
// its record, its values and its share of the registry's maps.
const maxBytesPerServer = 2560

// fillList lists n servers of one game, all different.
func fillList(t testing.TB, n int) (*Registry, []Key) {
	t.Helper()
	r := NewRegistry(Limits{})
	h := newHeartbeat()
	var rep Report
	keys := make([]Key, n)
	for i := range n {
		h.values[0] = "Server number " + strconv.Itoa(i)
		h.fill(r, &rep)
		s := at("gmtest", source(i), uint32(i))
		s.Seen, s.Via = time.Now(), source(0).Addr()
		if err := rep.Into(&s); err != nil {
			t.Fatal(err)
		}
		if err := r.Put(s); err != nil {
			t.Fatal(err)
		}
		keys[i] = s.Key
	}
	return r, keys
}

func heapAlloc() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMemoryPerListedServer(t *testing.T) {
	racetest.Skip(t, "fills a list")
	const servers = 10_000
	if size := newHeartbeat().size(); size < 950 || size > 1050 {
		t.Fatalf("the heartbeat has %d bytes, want about 1,000", size)
	}
	before := heapAlloc()
	r, keys := fillList(t, servers)
	per := float64(heapAlloc()-before-uint64(len(keys))*48) / servers
	t.Logf("%.0f bytes per listed server", per)
	if per > maxBytesPerServer {
		t.Errorf("memory per listed server: got %.0f bytes, want at most %d", per, maxBytesPerServer)
	}
	if r.Len() != servers {
		t.Errorf("Len: got %d, want %d", r.Len(), servers)
	}
}

func TestSignsOfLifeAllocateNothing(t *testing.T) {
	r, keys := fillList(t, 100)
	i := 0
	if got := testing.AllocsPerRun(1000, func() {
		r.Touch(keys[i%len(keys)], fromQR2, time.Now())
		i++
	}); got != 0 {
		t.Errorf("Touch: %v allocations, want 0", got)
	}
	buf := make([]*Server, 0, len(keys))
	if got := testing.AllocsPerRun(100, func() { buf, _ = r.Snapshot("gmtest", buf[:0]) }); got != 0 {
		t.Errorf("Snapshot into a buffer: %v allocations, want 0", got)
	}
}

func sizes(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkPut updates a listed server: two allocations, the record and its
// values.
func BenchmarkPut(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		r, keys := fillList(b, n)
		h := newHeartbeat()
		var rep Report
		h.fill(r, &rep)
		now := time.Now()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			s := at("gmtest", keys[i%n].Source, keys[i%n].Instance)
			s.Seen = now
			if err := rep.Into(&s); err != nil {
				b.Fatal(err)
			}
			if err := r.Put(s); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

func BenchmarkTouch(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		r, keys := fillList(b, n)
		now := time.Now()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if !r.Touch(keys[i%n], fromQR2, now) {
				b.Fatal("not listed")
			}
			i++
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		r, _ := fillList(b, n)
		var buf []*Server
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = r.Snapshot("gmtest", buf[:0])
		}
	})
}

func BenchmarkReportFill(b *testing.B) {
	r := NewRegistry(Limits{})
	h := newHeartbeat()
	var rep Report
	b.ReportAllocs()
	for b.Loop() {
		h.fill(r, &rep)
	}
}
