package netserve

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

func TestAddrSet(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	if AddrSet(nil).Has(a) {
		t.Error("the nil set has an address")
	}
	one := AddrSet(func(b netip.Addr) bool { return b == a })
	if !one.Has(a) || one.Has(a.Next()) {
		t.Error("the set is not what its function says")
	}
}

// refuse is a PacketWriter that fails.
type refuse struct{ err error }

func (w refuse) WritePacket([]byte, netip.Addr, netip.AddrPort) error { return w.err }

func TestSender(t *testing.T) {
	var log bytes.Buffer
	s := Sender{Log: zerolog.New(&log), Errors: prometheus.NewCounter(prometheus.CounterOpts{Name: "errors"})}
	errors := func() float64 { return testutil.ToFloat64(s.Errors) }
	s.Send(refuse{nil}, nil, netip.Addr{}, netip.AddrPort{})
	if got := errors(); got != 0 || log.Len() != 0 {
		t.Errorf("a packet that was sent: %v errors, log %q", got, &log)
	}
	s.Send(refuse{net.ErrClosed}, nil, netip.Addr{}, netip.MustParseAddrPort("192.0.2.1:5"))
	if got := errors(); got != 1 || !strings.Contains(log.String(), `"peer":"192.0.2.1:5"`) {
		t.Errorf("a packet that was not sent: %v errors, log %q", got, &log)
	}
}
