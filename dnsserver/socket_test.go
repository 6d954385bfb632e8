package dnsserver

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
)

func TestUpstreamsThatAreThisServer(t *testing.T) {
	mine := []netip.Addr{netip.MustParseAddr("192.168.1.5")}
	for name, tc := range map[string]struct {
		upstream, listen string
		itself           bool
	}{
		"loopback":                    {"127.0.0.1:53", ":53", true},
		"another loopback, all":       {"127.0.0.53:53", "0.0.0.0:53", true},
		"our address":                 {"192.168.1.5:53", ":53", true},
		"the same address":            {"192.168.1.5:53", "192.168.1.5:53", true},
		"localhost":                   {"127.0.0.1:53", "localhost:53", true},
		"systemd beside one address":  {"127.0.0.53:53", "192.168.1.5:53", false},
		"another port of our address": {"192.168.1.5:5353", ":53", false},
		"the router":                  {"192.168.1.1:53", ":53", false},
	} {
		err := ownUpstream([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53"), netip.MustParseAddrPort(tc.upstream)}, tc.listen, mine)
		if (err != nil) != tc.itself {
			t.Errorf("%s: %v, want an error: %v", name, err, tc.itself)
		}
	}
}

// systemError is an error of a system.
type systemError string

func (s systemError) Error() string { return string(s) }

func TestOpenErrorsNameTheRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		listen string
		parts  []string
	}{
		"taken":            {syscall.EADDRINUSE, ":53", []string{"Another program", "give dns.listen one address"}},
		"taken on one":     {syscall.EADDRINUSE, "192.168.1.5:53", []string{"Another program"}},
		"taken on Windows": {systemError("bind: Only one usage of each socket address (protocol/network address/port) is normally permitted."), ":53", []string{"Another program"}},
		"shared on Windows": {
			systemError("bind: An attempt was made to access a socket in a way forbidden by its access permissions."), ":53", []string{"Another program"},
		},
		"no rights":    {fs.ErrPermission, ":53", []string{"Ports below 1024"}},
		"another kind": {net.ErrClosed, ":53", nil},
	} {
		got := explain(tc.err, tc.listen)
		if !errors.Is(got, tc.err) || (tc.parts == nil && got.Error() != tc.err.Error()) {
			t.Errorf("%s: %v, want it to wrap %v", name, got, tc.err)
		}
		for _, p := range tc.parts {
			if !strings.Contains(got.Error(), p) {
				t.Errorf("%s: %v, want %q in it", name, got, p)
			}
		}
	}
	for goos, part := range map[string]string{"windows": "Internet Connection Sharing", "darwin": "Internet Sharing", "linux": "systemd-resolved"} {
		if got := portHolders(goos); !strings.Contains(got, part) {
			t.Errorf("portHolders(%s) = %s, want %q", goos, got, part)
		}
	}
}
