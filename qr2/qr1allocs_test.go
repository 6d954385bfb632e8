//go:build !race

package qr2

import (
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
)

func TestTextHeartbeatAllocations(t *testing.T) {
	s, packets := newTextFleet(t, 100)
	i := 0
	if got := testing.AllocsPerRun(1000, func() { s.ServePacket(nettest.Discard{}, packets[i%100]); i++ }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
