package web

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/web/webtest"
)

func TestRequestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) {
			o.Config.Rate, o.Config.Burst = 2, 5
			o.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
			o.Trusted = func(a netip.Addr) bool { return a == netip.MustParseAddr("203.0.113.5") }
		})
		const greedy, other = "198.51.100.1:1", "198.51.100.2:1"
		for i := range 5 {
			if w := f.Ask(greedy, "/api/v1/games"); w.Code != http.StatusOK {
				t.Errorf("request %d of 5 at once: got %d, want 200", i+1, w.Code)
			}
		}
		for _, target := range []string{"/api/v1/games", "/", "/assets/style.css", "/nothing"} {
			w := f.Ask(greedy, target, "X-Forwarded-For", "1.2.3.4")
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
				t.Errorf("GET %s beyond the burst: got %d %v, want 429 with Retry-After", target, w.Code, w.Header())
			}
		}
		if w := f.Ask(other, "/"); w.Code != http.StatusOK {
			t.Errorf("another address: got %d, want 200", w.Code)
		}
		time.Sleep(time.Second)
		for i, want := range []int{200, 200, 429} {
			if w := f.Ask(greedy, "/"); w.Code != want {
				t.Errorf("request %d after a second: got %d, want %d", i+1, w.Code, want)
			}
		}
		for i := range 20 { // behind a proxy each visitor counts for himself
			if w := f.Ask("10.0.0.1:1", "/", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)); w.Code != http.StatusOK {
				t.Errorf("visitor %d of a trusted proxy: got %d, want 200", i, w.Code)
			}
			if w := f.Ask("203.0.113.5:1", "/"); w.Code != http.StatusOK {
				t.Errorf("request %d of an exempt visitor: got %d, want 200", i, w.Code)
			}
		}
		if got := f.Count("respawnd_dropped_total", "service", "web", "reason", "rate"); got != 5 {
			t.Errorf("requests refused for their rate: got %v, want 5", got)
		}
		f.server.Reload(&Config{})
		if w := f.Ask(greedy, "/"); w.Code != http.StatusOK {
			t.Errorf("without a bound: got %d, want 200", w.Code)
		}
	})
}

func TestConnectionsOfProxy(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.Config.MaxConns, o.Config.MaxPerAddr = 9, 1
		o.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	at, _, _ := f.Start(t)
	for i := range 3 {
		if got := webtest.Ask(t, webtest.Dial(t, at), webtest.GetList).StatusCode; got != http.StatusOK {
			t.Errorf("connection %d of a trusted proxy: got %d, want 200", i+1, got)
		}
	}
}

func TestPreflight(t *testing.T) {
	f := newFixture(t)
	w := f.Do(http.MethodOptions, "/api/v1/events", "Origin", "https://example.org", "Access-Control-Request-Method", "GET")
	h := w.Header()
	if w.Code != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Methods") != "GET, HEAD" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "If-None-Match") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight of the API: got %d %v, want 204 that allows reading and no credentials", w.Code, h)
	}
	if w := f.Do(http.MethodOptions, "/", "Access-Control-Request-Method", "POST"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("preflight of a page: got %d, want 405", w.Code)
	}
}

func TestTokenInQuery(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/v1/servers?token=s3cret", "/api/v1/games?access_token=s3cret", "/api/v1/stats?key=s3cret"} {
		w := f.Get(target)
		if text := webtest.ErrorText(t, w); w.Code != http.StatusBadRequest || strings.Contains(text, "s3cret") {
			t.Errorf("GET %s: got %d %q, want 400 without the value", target, w.Code, text)
		}
	}
	if page := f.Page("/?token=s3cret"); strings.Contains(page, "s3cret") {
		t.Error("the page repeats a token from its address")
	}
}

// zeros is a body that takes no memory.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestLargeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Serving(t, func(ln *webtest.Pipes, _ func() time.Duration) {
			const size = 10 << 20
			for method, want := range map[string]string{http.MethodGet: "HTTP/1.1 200", http.MethodPost: "HTTP/1.1 405"} {
				c := ln.Dial(t)
				if _, err := fmt.Fprintf(c, "%s /api/v1/servers HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", method, size); err != nil {
					t.Fatalf("Write: %v", err)
				}
				sent := make(chan int64)
				go func() {
					n, _ := io.CopyN(c, zeros{}, size) // fails once the other side has had enough
					sent <- n
				}()
				line := make([]byte, len(want))
				if _, err := io.ReadFull(c, line); err != nil || string(line) != want {
					t.Errorf("%s with a body of 10 MB: got %q, %v; want %q", method, line, err, want)
				}
				_, _ = io.Copy(io.Discard, c)
				if n := <-sent; n > size/10 {
					t.Errorf("%s: %d bytes of the body were read", method, n)
				}
			}
		})
	})
}
