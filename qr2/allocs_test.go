//go:build !race

package qr2

import (
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

// Not under the race detector: there a sync.Pool forgets at random.
func TestAllocationsOfListedServers(t *testing.T) {
	f := newFleet(t, 100, spread, masterAddr)
	i := 0
	for name, tt := range map[string]struct {
		run  func()
		want float64
	}{
		"keepalive":              {func() { f.ServePacket(nettest.Discard{}, f.alive[i%100]); i++ }, 0},
		"heartbeat without news": {func() { f.ServePacket(nettest.Discard{}, f.packets[i%100]); i++ }, 0},
		"heartbeat with news": {func() {
			p := f.packets[i%100]
			count(p.Data, f.at)
			f.ServePacket(nettest.Discard{}, p)
			i++
		}, 2},
	} {
		if got := testing.AllocsPerRun(1000, tt.run); got > tt.want {
			t.Errorf("%s: %v allocations, want at most %v", name, got, tt.want)
		}
	}
	if got := len(f.packets[0].Data); got != 1000 {
		t.Errorf("the heartbeat has %d bytes, want 1,000", got)
	}
}
