package webservices

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/ssl3"
)

// serveSecure serves s over SSL 3.0 until the end of the test, and returns the address.
func serveSecure(t *testing.T, s *Server) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	identity, err := ssl3.NewIdentity(rand.Reader, certificateName, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeSecure(ctx, ln, identity) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ServeSecure() = %v", err)
		}
	})
	return ln.Addr().String()
}

// dialSecure returns a connection without a handshake, and the TCP connection under it.
func dialSecure(t *testing.T, address string) (*ssl3.Conn, net.Conn) {
	t.Helper()
	var d net.Dialer
	raw, err := d.DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ssl3.Client(raw, rand.Reader, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, raw
}

const secureRequest = "POST /Service.asmx HTTP/1.1\r\nHost: gmtest.auth.pubsvs.gamespy.com\r\nConnection: close\r\nContent-Length: "

func TestServeSecure(t *testing.T) {
	s, opt := newTestServer(t, func(o *Options) {
		o.Config.TLSHandshakes, o.Config.TLSHandshakesPerAddr, o.Config.TLSPending = 10, 10, 10
	})
	address := serveSecure(t, s)

	t.Run("a request", func(t *testing.T) {
		c, _ := dialSecure(t, address)
		body := envelope("<Say><a>hi</a></Say>")
		for _, part := range []string{secureRequest + "54\r\n", "\r\n", body} { // in three records, as games do
			if _, err := c.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(answer), "gmtest.auth.pubsvs.gamespy.com gmtest gmtest") {
			t.Errorf("answer %q, %v", answer, err)
		}
		if got := handshakes(t, opt.Registerer, ssl3.Completed); got != 1 {
			t.Errorf("%v handshakes", got)
		}
	})
	t.Run("HTTP without encryption", func(t *testing.T) {
		_, raw := dialSecure(t, address)
		if _, err := io.WriteString(raw, secureRequest+"0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		alert, err := io.ReadAll(raw)
		if err != nil || len(alert) != 7 || alert[0] != 21 || alert[6] != byte(ssl3.AlertUnexpectedMessage) {
			t.Errorf("answer %x, %v, want an alert", alert, err)
		}
	})
}

// handshakes returns how many handshakes ended in a way.
func handshakes(t *testing.T, reg prometheus.Registerer, how ssl3.Outcome) float64 {
	t.Helper()
	families, err := reg.(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if l := m.GetLabel(); f.GetName() == "respawnd_webservices_handshakes_total" && l[0].GetValue() == string(how) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// TestServeSecureFull checks that a connection that is refused gets an alert and holds
// nothing up.
func TestServeSecureFull(t *testing.T) {
	s, _ := newTestServer(t, func(o *Options) {
		o.Config.MaxPerAddr, o.Config.TLSHandshakes, o.Config.TLSHandshakesPerAddr, o.Config.TLSPending = 1, 10, 10, 10
	})
	address := serveSecure(t, s)
	first, _ := dialSecure(t, address)
	if err := first.Handshake(); err != nil {
		t.Fatal(err)
	}
	_, raw := dialSecure(t, address)
	alert, err := io.ReadAll(raw)
	if err != nil || len(alert) != 7 || alert[0] != 21 || alert[6] != byte(ssl3.AlertHandshakeFailure) {
		t.Errorf("answer %x, %v, want an alert", alert, err)
	}
}
