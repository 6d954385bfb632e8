package front

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestVisitor(t *testing.T) {
	f := New(Options{})
	tests := map[string]struct {
		trusted   string // networks
		peer      string
		forwarded []string
		want      string
	}{
		"none is trusted":             {"", "127.0.0.1:9", []string{"198.51.100.7"}, "127.0.0.1"},
		"another one is trusted":      {"10.0.0.0/8", "192.0.2.1:9", []string{"198.51.100.7"}, "192.0.2.1"},
		"trusted":                     {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7"}, "198.51.100.7"},
		"trusted, says nothing":       {"10.0.0.0/8", "10.1.1.1:9", nil, "10.1.1.1"},
		"trusted, empty":              {"10.0.0.0/8", "10.1.1.1:9", []string{""}, "10.1.1.1"},
		"forged in front":             {"10.0.0.0/8", "10.1.1.1:9", []string{"127.0.0.1, 1.1.1.1, 198.51.100.7"}, "198.51.100.7"},
		"forged on a line of its own": {"10.0.0.0/8", "10.1.1.1:9", []string{"1.1.1.1", "198.51.100.7"}, "198.51.100.7"},
		"two proxies":                 {"10.0.0.0/8", "10.1.1.1:9", []string{"1.1.1.1, 198.51.100.7, 10.2.2.2"}, "198.51.100.7"},
		"only proxies":                {"10.0.0.0/8", "10.1.1.1:9", []string{"10.3.3.3, 10.2.2.2"}, "10.3.3.3"},
		"no address":                  {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7, <script>"}, "10.1.1.1"},
		"no address behind a proxy":   {"10.0.0.0/8", "10.1.1.1:9", []string{"unknown, 10.2.2.2"}, "10.2.2.2"},
		"with a port":                 {"10.0.0.0/8", "10.1.1.1:9", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		"IPv6":                        {"::1/128", "[::1]:9", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets, with port": {"::1/128", "[::1]:9", []string{"[2001:db8::7]:80"}, "2001:db8::7"},
		"IPv6 in brackets":            {"::1/128", "[::1]:9", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv4 as IPv6 is IPv4":        {"127.0.0.0/8", "[::ffff:127.0.0.1]:9", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		"commas":                      {"10.0.0.0/8", "10.1.1.1:9", []string{",,,"}, "10.1.1.1"},
		"all are trusted":             {"0.0.0.0/0", "10.1.1.1:9", []string{strings.Repeat("1.1.1.1,", 500) + "2.2.2.2"}, "1.1.1.1"},
		"peer without address":        {"0.0.0.0/0", "@", []string{"1.1.1.1"}, "invalid IP"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var proxies []netip.Prefix
			if tc.trusted != "" {
				proxies = []netip.Prefix{netip.MustParsePrefix(tc.trusted)}
			}
			f.SetLimits(0, 0, proxies)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = tc.peer
			r.Header["X-Forwarded-For"] = tc.forwarded
			if got := f.Visitor(r).String(); got != tc.want {
				t.Errorf("visitor from %s, forwarded %q: got %s, want %s", tc.peer, tc.forwarded, got, tc.want)
			}
		})
	}
}
