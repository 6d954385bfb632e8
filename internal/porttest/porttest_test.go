package porttest

import (
	"net"
	"net/netip"
	"testing"
)

func TestTCP(t *testing.T) {
	at := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	one, err := TCP(at)
	if err != nil {
		t.Fatal(err)
	}
	if one.Addr() != at || one.Port() < first || one.Port() > last {
		t.Errorf("TCP() = %v, want a port between %d and %d of %v", one, first, last, at)
	}
	chosen.Lock()
	chosen.port = one.Port() - 1
	chosen.Unlock()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", one.String())
	if err != nil {
		t.Skip("another process has taken the port: ", err)
	}
	defer func() { _ = ln.Close() }()
	if other, err := TCP(at); err != nil || other == one {
		t.Errorf("TCP() = %v, %v, want another port than %v, which has a socket", other, err, one)
	}
	chosen.Lock()
	chosen.port = last
	chosen.Unlock()
	if next, err := TCP(at); err != nil || next.Port() < first || next.Port() > last {
		t.Errorf("TCP() after the last port = %v, %v, want one of the first", next, err)
	}
	if _, err := TCP(netip.AddrFrom4([4]byte{192, 0, 2, 1})); err == nil {
		t.Error("TCP() of an address of another machine succeeds")
	}
}
