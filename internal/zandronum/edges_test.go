package zandronum

import (
	"net/netip"
	"slices"
	"testing"
)

func TestListBlockBounds(t *testing.T) {
	ports := slices.Repeat([]uint16{10666}, MaxPorts+1)
	for n, blocks := range map[int]int{MaxPorts: 1, MaxPorts + 1: 2} {
		packets, left := ListPackets([]Block{{Addr: netip.MustParseAddr("192.0.2.1"), Ports: ports[:n]}})
		if want := 7 + blocks*5 + 2*n + 1; left != 0 || len(packets) != 1 || len(packets[0]) != want {
			t.Errorf("%d servers: %d packets, the first of %d bytes, %d left; want one of %d", n, len(packets), len(packets[0]), left, want)
		}
		if len(packets[0]) > maxListSize+8 {
			t.Errorf("a packet of %d bytes", len(packets[0]))
		}
	}
}
