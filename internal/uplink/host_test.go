package uplink

import (
	"net/netip"
	"testing"
)

func TestRoomForHosts(t *testing.T) {
	one := netip.MustParseAddr("192.0.2.1")
	h := newHostTable(maxWrong)
	for i := range MaxHosts {
		h.known.Put(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1), "")
	}
	if got := h.refusal(one, 0, "", 1); got != Full {
		t.Errorf("room beside %d hosts: %q", MaxHosts, got)
	}
	h.known.Remove(netip.MustParseAddrPort("10.0.0.0:1"))
	if got := h.refusal(one, 0, "", 1); got != NotDropped {
		t.Errorf("room beside %d hosts: %q", MaxHosts-1, got)
	}
}
