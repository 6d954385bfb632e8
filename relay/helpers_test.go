package relay

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
)

var local = netip.MustParseAddr("127.0.0.1")

// defaults returns Options with the defaults of the configuration after a change.
func defaults(change func(*Options)) (o Options, reg *prometheus.Registry) {
	configs.Defaults(&o.Config)
	reg = prometheus.NewRegistry()
	o.Registerer, o.Metrics = reg, netserve.NewMetrics(reg, "relay", dropReasons...)
	if change != nil {
		change(&o)
	}
	return o, reg
}

// serve runs a Server; stop ends it and waits for it.
func serve(t testing.TB, o Options) (s *Server, stop func()) {
	t.Helper()
	s = newServer(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	for !s.begun() {
		time.Sleep(time.Millisecond)
	}
	return s, stop
}

// newServer returns a Server that is closed with the test.
func newServer(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// begun reports whether Serve has begun.
func (s *Server) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.serving
}

// player is a RelayPlayer that is proved, seen at addresses, and reached 127.0.0.1.
func player(seen ...string) service.RelayPlayer {
	p := service.RelayPlayer{Reached: local, Proved: true}
	for _, a := range seen {
		p.Seen = append(p.Seen, netip.MustParseAddr(a))
	}
	return p
}

// neighbours are two players on this machine.
var neighbours = [2]service.RelayPlayer{player("127.0.0.1"), player("127.0.0.1")}

// client is a socket of a player on this machine.
type client struct {
	t testing.TB
	*net.UDPConn
	to netip.AddrPort
}

func dial(t testing.TB, to netip.AddrPort) client {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return client{t, c, to}
}

func (c client) send(text string) {
	c.t.Helper()
	if _, err := c.WriteToUDPAddrPort([]byte(text), c.to); err != nil {
		c.t.Fatal(err)
	}
}

// expect waits for a datagram from the port of the relay.
func (c client) expect(want string) {
	c.t.Helper()
	buf := make([]byte, 3000)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != want || from != c.to {
		c.t.Fatalf("got %q from %v, %v, want %q from %v", buf[:n], from, err, want, c.to)
	}
}

// value returns the sum of a metric whose labels have the given values.
func value(t testing.TB, reg *prometheus.Registry, name string, labels ...string) float64 {
	t.Helper()
	sum, _ := metrictest.Find(t, reg, name, labels...)
	return sum
}
