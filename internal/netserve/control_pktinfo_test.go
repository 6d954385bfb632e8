//go:build linux || darwin

package netserve

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// received returns the control message that the system sends for a datagram to a.
func received(kind controlKind, a netip.Addr) []byte {
	if kind == control4 {
		var info [sizeofInfo4]byte
		b := a.As4()
		copy(info[info4Local:], b[:])
		return appendControl(nil, unix.IPPROTO_IP, unix.IP_PKTINFO, info[:])
	}
	return appendSource(nil, kind, a) // the same in both directions
}

func TestDestinationIsFoundInControlMessages(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	other := appendControl(nil, unix.SOL_SOCKET, 99, []byte("else"))
	for name, tc := range map[string]struct {
		oob  []byte
		want netip.Addr
	}{
		"none":             {nil, netip.Addr{}},
		"IPv4":             {received(control4, v4), v4},
		"IPv6":             {received(control6, v6), v6},
		"IPv4 mapped":      {received(control6, v4), v4},
		"after another":    {append(other, received(control4, v4)...), v4},
		"only another":     {other, netip.Addr{}},
		"multicast":        {received(control6, netip.MustParseAddr("ff02::1")), netip.Addr{}},
		"unspecified":      {received(control4, netip.IPv4Unspecified()), netip.Addr{}},
		"too short a body": {appendControl(nil, unix.IPPROTO_IP, unix.IP_PKTINFO, make([]byte, 4)), netip.Addr{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parseDestination(tc.oob); got != tc.want {
				t.Errorf("parseDestination(%x) = %v, want %v", tc.oob, got, tc.want)
			}
		})
	}
}

func TestUnusableSource(t *testing.T) {
	if got := appendSource(nil, control4, netip.MustParseAddr("2001:db8::7")); len(got) != 0 {
		t.Errorf("IPv6 source on an IPv4 socket gave %x, want nothing", got)
	}
	for kind, a := range map[controlKind]string{control4: "192.0.2.7", control6: "2001:db8::7"} {
		if got := len(appendSource(nil, kind, netip.MustParseAddr(a))); got > controlSpace {
			t.Errorf("a control message has %d bytes, the space for it %d", got, controlSpace)
		}
	}
}

func FuzzParseDestination(f *testing.F) {
	f.Add(received(control4, netip.MustParseAddr("192.0.2.7")))
	f.Add(received(control6, netip.MustParseAddr("2001:db8::7")))
	f.Fuzz(func(t *testing.T, oob []byte) {
		if a := parseDestination(oob); a.IsValid() && (a.IsUnspecified() || a.IsMulticast()) {
			t.Errorf("parseDestination(%x) = %v, which nothing can leave from", oob, a)
		}
	})
}
