package qr2

import (
	"runtime"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
)

// maxBytesPerServer limits the memory of one listed server that reports 1,000 bytes,
// whether or not its report has been read.
const maxBytesPerServer = 2560

func TestMemoryPerListedServer(t *testing.T) {
	racetest.Skip(t, "lists many servers")
	const servers = 4000
	used := func() uint64 {
		runtime.GC()
		runtime.GC() // the second one empties the pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := used()
	f := newFleet(t, servers, spread, masterAddr)
	f.packets, f.alive = nil, nil
	check := func(what string) {
		t.Helper()
		per := float64(used()-before) / servers
		t.Logf("%s: %.0f bytes per listed server", what, per)
		if per > maxBytesPerServer {
			t.Errorf("%s: got %.0f bytes per listed server, want at most %d", what, per, maxBytesPerServer)
		}
	}
	check("as reported")
	names := make(map[*master.Names]bool)
	for s := range f.list.List("gmtest") {
		if s.Players.Rows() != 8 {
			t.Fatalf("%v: got %d players, want 8", s.Key, s.Players.Rows())
		}
		names[s.Rules.Names()] = true
	}
	check("after all were read")
	if len(names) != 1 {
		t.Errorf("the servers have %d lists of names, want one for all", len(names))
	}
	runtime.KeepAlive(f)
}
