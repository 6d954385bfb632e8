package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestServe(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{})
	addr, stop, ended := f.Start(t)
	c := webtest.Dial(t, addr)
	resp := webtest.Ask(t, c, webtest.GetList)
	if l := webtest.Decode[webtest.ListJSON](t, resp.Body); resp.StatusCode != http.StatusOK || l.Count != 1 {
		t.Errorf("list over a socket: got %d with %d servers, want 200 with 1", resp.StatusCode, l.Count)
	}
	resp = webtest.Ask(t, c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != front.HTML {
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

func TestServeBrokenListener(t *testing.T) {
	f := newFixture(t)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	_ = ln.Close()
	if err := f.Serve(t.Context(), ln); err == nil {
		t.Error("Serve on a closed listener: got nil, want its error")
	}
}

func TestServeEndedContext(t *testing.T) {
	f := newFixture(t)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Serve(ctx, ln); err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if _, err := ln.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestConnectionLimits(t *testing.T) {
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
			f := newFixture(t, func(o *Options) { o.Config.MaxConns, o.Config.MaxPerAddr = tc.most, tc.perAddr })
			addr, _, _ := f.Start(t)
			first, second := webtest.Dial(t, addr), webtest.Dial(t, addr)
			for _, c := range []net.Conn{first, second} {
				if got := webtest.Ask(t, c, webtest.GetList).StatusCode; got != http.StatusOK {
					t.Errorf("connection within the bound: got %d, want 200", got)
				}
			}
			if got, err := io.ReadAll(webtest.Dial(t, addr)); !strings.HasPrefix(string(got), "HTTP/1.1 "+tc.status) {
				t.Errorf("one connection too many gets %q, %v, want the status %s", got, err, tc.status)
			}
			if got := f.Count("respawnd_connections_refused_total", "service", "web", "reason", tc.reason); got != 1 {
				t.Errorf("refused connections under %s: got %v, want 1", tc.reason, got)
			}
			// The place of one that ended is free again.
			resp := webtest.Ask(t, first, "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
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
		c := webtest.Dial(t, addr)
		if _, err := io.WriteString(c, webtest.GetList); err != nil {
			continue
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			return
		}
	}
}

// Pages have a tag, which gives 304 while their content stays the same.
func TestPagesAreTagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Fill(3)
		for _, path := range []string{"/", "/servers", "/servers?q=server", "/players", "/games", "/games?q=gm&page=1", "/games/gmtest"} {
			first := f.Get(path)
			tag := first.Header().Get("ETag")
			if first.Code != http.StatusOK || tag == "" {
				t.Errorf("%s: status %d, tag %q, want 200 and a tag", path, first.Code, tag)
				continue
			}
			if again := f.Get(path, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("%s: status %d and %d bytes with the tag, want 304 and none", path, again.Code, again.Body.Len())
			}
			if other := f.Get(path, "If-None-Match", `"other"`); other.Code != http.StatusOK {
				t.Errorf("%s: status %d with another tag, want 200", path, other.Code)
			}
		}
	})
}
