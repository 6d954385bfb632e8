package admin

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/logtail"
)

// One address takes its share of the connections and not one more; the operator
// at another still gets in.
func TestOneAddressDoesNotKeepTheOperatorOut(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := New(Options{Tail: logtail.New(1), Registerer: reg, Log: zerolog.Nop()})
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newBoundedListener(ln, s.metrics)
	accepted := make(chan net.Conn)
	go func() { // until the listener closes
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		for c := range accepted {
			_ = c.Close()
		}
	})
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var held []net.Conn
	enter := func(from string) {
		t.Helper()
		dial(from)
		held = append(held, <-accepted)
	}
	for range maxConnsPerAddr {
		enter("127.0.0.2")
	}
	for range 3 {
		if _, err := dial("127.0.0.2").Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("one connection too many is not closed: %v", err)
		}
	}
	if got := countedRefusals(t, reg, refusedPerAddr); got != 3 {
		t.Errorf("%v connections of an address are counted as refused, want 3", got)
	}
	enter("127.0.0.3")
	_ = held[0].Close()
	enter("127.0.0.2")
	for _, c := range held {
		_ = c.Close()
		_ = c.Close() // counts once
	}
	if l.open != 0 || len(l.from) != 0 {
		t.Errorf("after all left: %d open, %d addresses, want none", l.open, len(l.from))
	}
}

// countedRefusals returns how many refusals of a reason the metrics have.
func countedRefusals(t *testing.T, reg *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "respawnd_admin_refused_total" && m.GetLabel()[0].GetValue() == reason {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric for %s", reason)
	return 0
}
