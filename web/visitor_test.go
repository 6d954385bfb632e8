package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestForwardedAddressIsBelievedOfNamedProxiesOnly(t *testing.T) {
	f := newFixture(t)
	tests := map[string]struct {
		trusted   string // networks
		peer      string
		forwarded []string
		want      string
	}{
		"nobody is trusted":            {"", "127.0.0.1:9", []string{"198.51.100.7"}, "127.0.0.1"},
		"another one is trusted":       {"10.0.0.0/8", "192.0.2.1:9", []string{"198.51.100.7"}, "192.0.2.1"},
		"trusted":                      {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7"}, "198.51.100.7"},
		"trusted, says nothing":        {"10.0.0.0/8", "10.1.1.1:9", nil, "10.1.1.1"},
		"trusted, empty":               {"10.0.0.0/8", "10.1.1.1:9", []string{""}, "10.1.1.1"},
		"forged in front":              {"10.0.0.0/8", "10.1.1.1:9", []string{"127.0.0.1, 1.1.1.1, 198.51.100.7"}, "198.51.100.7"},
		"forged on a line of its own":  {"10.0.0.0/8", "10.1.1.1:9", []string{"1.1.1.1", "198.51.100.7"}, "198.51.100.7"},
		"two proxies":                  {"10.0.0.0/8", "10.1.1.1:9", []string{"1.1.1.1, 198.51.100.7, 10.2.2.2"}, "198.51.100.7"},
		"only proxies":                 {"10.0.0.0/8", "10.1.1.1:9", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		"no address":                   {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7, <script>"}, "10.1.1.1"},
		"no address behind a proxy":    {"10.0.0.0/8", "10.1.1.1:9", []string{"unknown, 10.2.2.2"}, "10.2.2.2"},
		"with a port":                  {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		"IPv6":                         {"::1/128", "[::1]:9", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets, with port":  {"::1/128", "[::1]:9", []string{"[2001:db8::7]:80"}, "2001:db8::7"},
		"IPv6 in brackets":             {"::1/128", "[::1]:9", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv4 as IPv6 is IPv4":         {"127.0.0.0/8", "[::ffff:127.0.0.1]:9", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		"commas":                       {"10.0.0.0/8", "10.1.1.1:9", []string{",,,"}, "10.1.1.1"},
		"everybody trusted, no escape": {"0.0.0.0/0", "10.1.1.1:9", []string{strings.Repeat("1.1.1.1,", 500) + "2.2.2.2"}, "1.1.1.1"},
		"peer without address":         {"0.0.0.0/0", "@", []string{"1.1.1.1"}, "invalid IP"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := Policy{}
			if tc.trusted != "" {
				p.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(tc.trusted)}
			}
			f.server.SetPolicy(p)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = tc.peer
			r.Header["X-Forwarded-For"] = tc.forwarded
			if got := f.server.visitor(r).String(); got != tc.want {
				t.Errorf("visitor from %s, forwarded %q: got %s, want %s", tc.peer, tc.forwarded, got, tc.want)
			}
		})
	}
}

// ask sends a request from an address.
func (f *fixture) ask(from, target string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, target, nil)
	r.RemoteAddr = from
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r)
	return w
}

func TestRequestsOfAnAddressAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) {
			o.Policy = Policy{
				Rate: 2, Burst: 5, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")},
				Exempt: func(a netip.Addr) bool { return a == netip.MustParseAddr("203.0.113.5") },
			}
		})
		const greedy, other = "198.51.100.1:1", "198.51.100.2:1"
		for i := range 5 {
			if w := f.ask(greedy, "/api/v1/games"); w.Code != http.StatusOK {
				t.Errorf("request %d of 5 at once: got %d, want 200", i+1, w.Code)
			}
		}
		for _, target := range []string{"/api/v1/games", "/", "/assets/style.css", "/nothing"} {
			w := f.ask(greedy, target, "X-Forwarded-For", "1.2.3.4")
			if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
				t.Errorf("GET %s beyond the burst: got %d %v, want 429 with Retry-After", target, w.Code, w.Header())
			}
		}
		if w := f.ask(other, "/"); w.Code != http.StatusOK {
			t.Errorf("another address: got %d, want 200", w.Code)
		}
		time.Sleep(time.Second)
		for i, want := range []int{200, 200, 429} {
			if w := f.ask(greedy, "/"); w.Code != want {
				t.Errorf("request %d after a second: got %d, want %d", i+1, w.Code, want)
			}
		}
		for i := range 20 { // behind a proxy each visitor counts for himself
			if w := f.ask("10.0.0.1:1", "/", "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)); w.Code != http.StatusOK {
				t.Errorf("visitor %d of a trusted proxy: got %d, want 200", i, w.Code)
			}
			if w := f.ask("203.0.113.5:1", "/"); w.Code != http.StatusOK {
				t.Errorf("request %d of an exempt visitor: got %d, want 200", i, w.Code)
			}
		}
		if got := f.count("respawnd_dropped_total", "service", "web", "reason", dropRate); got != 5 {
			t.Errorf("requests refused for their rate: got %v, want 5", got)
		}
		f.server.SetPolicy(Policy{})
		if w := f.ask(greedy, "/"); w.Code != http.StatusOK {
			t.Errorf("without a bound: got %d, want 200", w.Code)
		}
	})
}

func TestProxyMayHaveAllConnections(t *testing.T) {
	f := newFixture(t, func(o *Options) {
		o.MaxConns, o.MaxPerAddr = 9, 1
		o.Policy.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	at, _, _ := f.start(t)
	for i := range 3 {
		if got := ask(t, dial(t, at), getList).StatusCode; got != http.StatusOK {
			t.Errorf("connection %d of a trusted proxy: got %d, want 200", i+1, got)
		}
	}
}

func TestScriptsOfOtherOriginsMayAskWithAllHeaders(t *testing.T) {
	f := newFixture(t)
	w := f.do(http.MethodOptions, "/api/v1/events", "Origin", "https://example.org", "Access-Control-Request-Method", "GET")
	h := w.Header()
	if w.Code != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Methods") != "GET, HEAD" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "If-None-Match") || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight of the API: got %d %v, want 204 that allows reading and no credentials", w.Code, h)
	}
	if w := f.do(http.MethodOptions, "/", "Access-Control-Request-Method", "POST"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("preflight of a page: got %d, want 405", w.Code)
	}
}

func TestTokenInTheAddressIsNothing(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/v1/servers?token=s3cret", "/api/v1/games?access_token=s3cret", "/api/v1/stats?key=s3cret"} {
		w := f.get(target)
		if text := errorText(t, w); w.Code != http.StatusBadRequest || strings.Contains(text, "s3cret") {
			t.Errorf("GET %s: got %d %q, want 400 without the value", target, w.Code, text)
		}
	}
	if page := f.page("/?token=s3cret"); strings.Contains(page, "s3cret") {
		t.Error("the page repeats a token from its address")
	}
}

// zeros is a body that takes no memory.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestLargeBodyIsNotRead(t *testing.T) {
	f := newFixture(t)
	at, _, _ := f.start(t)
	const size = 10 << 20
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		c := dial(t, at)
		if _, err := fmt.Fprintf(c, "%s /api/v1/servers HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", method, size); err != nil {
			t.Fatalf("Write: %v", err)
		}
		sent := make(chan int64)
		go func() {
			n, _ := io.CopyN(c, zeros{}, size) // fails once the other side has had enough
			sent <- n
		}()
		line := make([]byte, 12)
		if _, err := io.ReadFull(c, line); err != nil {
			t.Fatalf("%s with a body of 10 MB: %v", method, err)
		}
		want := map[string]string{http.MethodGet: "HTTP/1.1 200", http.MethodPost: "HTTP/1.1 405"}[method]
		if string(line) != want {
			t.Errorf("%s with a body of 10 MB: got %q, want %q", method, line, want)
		}
		_, _ = io.Copy(io.Discard, c)
		if n := <-sent; n == size {
			t.Logf("%s: all of the body fitted into the buffers of the system", method)
		}
	}
}
