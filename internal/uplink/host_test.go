package uplink

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
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

func TestPorts(t *testing.T) {
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := []Socket{{conn, 27655}}
	defer func() { _ = Close(list) }()
	want := ":" + strconv.Itoa(int(conn.LocalAddr().Port()))
	if got := Ports(":27650", list); len(got) != 1 || got[0] != want {
		t.Errorf("Ports() = %q, want %q", got, want)
	}
	if got := Ports(":0", list); got != nil {
		t.Errorf("Ports() of a port that the system chooses = %q", got)
	}
}
