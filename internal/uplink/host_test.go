package uplink

import (
	"net/netip"
	"testing"
)

func TestRoomForHosts(t *testing.T) {
	one := netip.MustParseAddr("192.0.2.1")
	h := newHostTable()
	for i := range maxHosts {
		h.known[netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)] = host{}
	}
	if got := h.room(one, 0, "", 1); got != Full {
		t.Errorf("room beside %d hosts: %q", maxHosts, got)
	}
	delete(h.known, netip.MustParseAddrPort("10.0.0.0:1"))
	if got := h.room(one, 0, "", 1); got != NotDropped {
		t.Errorf("room beside %d hosts: %q", maxHosts-1, got)
	}
}
