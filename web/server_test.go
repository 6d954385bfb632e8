package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
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
		status        string
	}{
		"in all":      {2, 10, "full", "503"},
		"per address": {10, 2, "per_address", "429"},
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
			if got, err := io.ReadAll(dial(t, addr)); !strings.HasPrefix(string(got), "HTTP/1.1 "+tc.status) {
				t.Errorf("one connection too many gets %q, %v, want the status %s", got, err, tc.status)
			}
			if got := f.count("respawnd_connections_refused_total", "service", "web", "reason", tc.reason); got != 1 {
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

func TestDefaultBounds(t *testing.T) {
	tests := map[string]struct{ conns, perAddr, wantConns, wantPerAddr int }{
		"nothing said":     {0, 0, DefaultMaxConns, DefaultMaxPerAddr},
		"both":             {10, 7, 10, 7},
		"negative is none": {-1, -1, DefaultMaxConns, DefaultMaxPerAddr},
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
