package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
)

// start serves f on loopback until the test ends.
func (f *fixture) start(t *testing.T) (addr string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		result <- f.server.Serve(ctx, ln)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
	})
	return ln.Addr().String(), cancel, result
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends raw text and reads one answer.
func ask(t *testing.T, c net.Conn, request string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatalf("Write: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("ReadResponse: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	return resp
}

const getList = "GET /api/v1/servers HTTP/1.1\r\nHost: x\r\n\r\n"

func TestServeAnswersAndStops(t *testing.T) {
	f := newFixture(t)
	f.put(listed{})
	addr, stop, ended := f.start(t)
	c := dial(t, addr)
	resp := ask(t, c, getList)
	if l := decode[listJSON](t, resp.Body); resp.StatusCode != http.StatusOK || l.Count != 1 {
		t.Errorf("list over a socket: got %d with %d servers, want 200 with 1", resp.StatusCode, l.Count)
	}
	resp = ask(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != htmlType {
		t.Errorf("page on the same connection: got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection outlives Serve")
	}
}

func TestServeSaysThatTheListenerBroke(t *testing.T) {
	f := newFixture(t)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	_ = ln.Close()
	if err := f.server.Serve(t.Context(), ln); err == nil {
		t.Error("Serve on a closed listener: got nil, want its error")
	}
}

func TestServeOnAnEndedContext(t *testing.T) {
	f := newFixture(t)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.server.Serve(ctx, ln); err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestHeaderTooLargeIsRefused(t *testing.T) {
	f := newFixture(t)
	addr, _, _ := f.start(t)
	for name, tc := range map[string]struct{ length, want int }{
		"within the bound": {maxHeader - 200, http.StatusOK},
		"too large":        {maxHeader + 8<<10, http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			request := "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", tc.length) + "\r\n\r\n"
			c := dial(t, addr)
			if _, err := io.WriteString(c, request); err != nil {
				t.Fatalf("Write: %v", err)
			}
			status, err := bufio.NewReader(c).ReadString('\n')
			if want := fmt.Sprintf("HTTP/1.1 %d ", tc.want); err != nil || !strings.HasPrefix(status, want) {
				t.Errorf("header with %d bytes: got %q, %v; want %q", tc.length, status, err, want)
			}
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	tests := map[string]struct {
		most, perAddr int
		reason        string
	}{
		"in all":      {2, 10, dropFull},
		"per address": {10, 2, dropPerAddr},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.MaxConns, o.MaxPerAddr = tc.most, tc.perAddr })
			addr, _, _ := f.start(t)
			first, second := dial(t, addr), dial(t, addr)
			for _, c := range []net.Conn{first, second} {
				if got := ask(t, c, getList).StatusCode; got != http.StatusOK {
					t.Errorf("connection within the bound: got %d, want 200", got)
				}
			}
			if _, err := dial(t, addr).Read(make([]byte, 1)); err == nil {
				t.Error("one connection too many gets an answer")
			}
			if got := f.count("respawnd_dropped_total", "service", "web", "reason", tc.reason); got != 1 {
				t.Errorf("refused connections under %s: got %v, want 1", tc.reason, got)
			}
			// The place of one that ended is free again.
			resp := ask(t, first, "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("last request: got %d, want 404", resp.StatusCode)
			}
			if _, err := io.Copy(io.Discard, first); err != nil {
				t.Errorf("waiting for the end of a connection: %v", err)
			}
			askUntil(t, addr)
		})
	}
}

// askUntil connects until it gets an answer. A connection counts until the
// server has closed it, which a client may see a moment before.
func askUntil(t *testing.T, addr string) {
	t.Helper()
	for t.Context().Err() == nil {
		c := dial(t, addr)
		if _, err := io.WriteString(c, getList); err != nil {
			continue
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			return
		}
	}
}

func TestCountedAddress(t *testing.T) {
	tests := map[string]struct {
		peer net.Addr
		want string
	}{
		"IPv4":        {&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, "192.0.2.1"},
		"IPv4 mapped": {&net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1"), Port: 1}, "192.0.2.1"},
		"IPv6":        {&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:3:4:5:6"), Zone: "eth0"}, "2001:db8:1:2::"},
		"no address":  {&net.UnixAddr{Name: "x"}, "invalid IP"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := counted(peerAddr(tc.peer)).String(); got != tc.want {
				t.Errorf("counted(%v): got %s, want %s", tc.peer, got, tc.want)
			}
		})
	}
}

func TestConnectionLeavesOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	l := newLimitListener(nil, 2, 2, func(netip.Addr) bool { return false }, netserve.NewMetrics(reg, "web"))
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	addr := peerAddr(a.RemoteAddr())
	for i, want := range []string{"", "", dropFull} {
		if got := l.enter(addr); got != want {
			t.Fatalf("connection %d of two allowed: got %q, want %q", i+1, got, want)
		}
	}
	c := &limitConn{Conn: a, leave: sync.OnceFunc(func() { l.leave(addr) })}
	for range 3 {
		_ = c.Close()
	}
	if l.total != 1 {
		t.Errorf("one of two connections closed three times: %d counted, want 1", l.total)
	}
	if got := openConnections(t, reg); got != 1 {
		t.Errorf("respawnd_connections is %v, want 1", got)
	}
	l.leave(addr)
	if l.total != 0 || len(l.from) != 0 {
		t.Errorf("after all left: total %d, addresses %d, want 0", l.total, len(l.from))
	}
}

// openConnections returns the metric.
func openConnections(t *testing.T, reg *prometheus.Registry) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "respawnd_connections" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no metric respawnd_connections")
	return 0
}

func TestDefaultBounds(t *testing.T) {
	tests := map[string]struct{ conns, perAddr, wantConns, wantPerAddr int }{
		"nothing said":     {0, 0, DefaultMaxConns, DefaultMaxConns / 4},
		"few":              {2, 0, 2, 1},
		"both":             {10, 7, 10, 7},
		"negative is none": {-1, -1, DefaultMaxConns, DefaultMaxConns / 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := Options{MaxConns: tc.conns, MaxPerAddr: tc.perAddr}.withDefaults()
			if o.MaxConns != tc.wantConns || o.MaxPerAddr != tc.wantPerAddr {
				t.Errorf("bounds: got %d and %d, want %d and %d", o.MaxConns, o.MaxPerAddr, tc.wantConns, tc.wantPerAddr)
			}
		})
	}
}
