package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
)

// adminServer is a Server on loopback; connections of the test may come from
// any address of 127.0.0.0/8.
type adminServer struct {
	t    *testing.T
	addr string
	reg  *prometheus.Registry
}

func newAdminServer(t *testing.T) *adminServer {
	t.Helper()
	reg := prometheus.NewRegistry()
	s := New(Options{Operations: service.Operations{Tail: logtail.New(1), Gatherer: reg}, Self: part.Self{Registerer: reg, Log: zerolog.Nop()}})
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), ln) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
	return &adminServer{t, ln.Addr().String(), reg}
}

// dial connects from an address.
func (s *adminServer) dial(from string) net.Conn {
	s.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(s.t.Context(), "tcp4", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a request over c and returns the status of the answer, 0 if there is
// none.
func (s *adminServer) ask(c net.Conn) int {
	s.t.Helper()
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") // an error shows in the answer
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// One address gets its share of the connections and no more; the operator at
// another still gets in.
func TestConnsOfOneAddress(t *testing.T) {
	s := newAdminServer(t)
	for i := range maxConnsPerAddr {
		if got := s.ask(s.dial("127.0.0.2")); got != http.StatusOK {
			t.Fatalf("connection %d of an address: %d, want 200", i, got)
		}
	}
	for range 3 {
		if got := s.ask(s.dial("127.0.0.2")); got != http.StatusTooManyRequests {
			t.Errorf("one connection too many: %d, want 429", got)
		}
	}
	if got := metrictest.Value(t, s.reg, "respawnd_connections_refused_total", "per_address"); got != 3 {
		t.Errorf("%v connections of an address are counted as refused, want 3", got)
	}
	if got := s.ask(s.dial("127.0.0.3")); got != http.StatusOK {
		t.Errorf("the operator: %d, want 200", got)
	}
}

// When a few addresses have taken all connections, the operator gets one of them.
func TestConnsOfFewAddresses(t *testing.T) {
	s := newAdminServer(t)
	for i := range maxConns {
		c := s.dial([]string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}[i/maxConnsPerAddr])
		if got := s.ask(c); got != http.StatusOK {
			t.Fatalf("connection %d: %d, want 200", i, got)
		}
	}
	operator := s.dial("127.0.0.6")
	for range 2 {
		if got := s.ask(operator); got != http.StatusOK {
			t.Fatalf("the operator: %d, want 200", got)
		}
	}
	if got := metrictest.Value(t, s.reg, "respawnd_connections_evicted_total", "idle"); got != 1 {
		t.Errorf("%v connections made room, want 1", got)
	}
	if got := s.ask(s.dial("127.0.0.5")); got == http.StatusOK {
		t.Error("an address that has its share pushes others out")
	}
}
