package valvemaster

import (
	"net/netip"
	"time"
)

// host is a game server that sent a heartbeat with a valid challenge.
type host struct {
	addr        netip.AddrPort
	first, seen time.Duration
	taken       uint32 // heartbeats, so that each challenge is good for one
	region      byte
	listed      bool // when it was last looked
	told        bool // that it does not answer A2S
}

// hostTable holds the hosts. Server.mu guards it.
type hostTable struct {
	bySource map[netip.AddrPort]*host
	perAddr  map[netip.Addr]int
}

func newHostTable() hostTable {
	return hostTable{bySource: make(map[netip.AddrPort]*host), perAddr: make(map[netip.Addr]int)}
}

// room returns why another host is not taken in. limit bounds those
// of an address; 0: no bound.
func (t *hostTable) room(a netip.Addr, limit int) (dropped drop) {
	switch {
	case len(t.bySource) >= maxHosts:
		return dropFull
	case limit > 0 && t.perAddr[a] >= limit:
		return dropTooMany
	default:
		return notDropped
	}
}

func (t *hostTable) add(h *host) {
	t.bySource[h.addr] = h
	t.perAddr[h.addr.Addr()]++
}

func (t *hostTable) remove(h *host) {
	delete(t.bySource, h.addr)
	if a := h.addr.Addr(); t.perAddr[a] > 1 {
		t.perAddr[a]--
	} else {
		delete(t.perAddr, a)
	}
}
