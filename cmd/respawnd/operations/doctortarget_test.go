package operations

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParsePatient(t *testing.T) {
	v4, v6 := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
	for text, want := range map[string]patient{
		"203.0.113.7":           {"203.0.113.7", v4, 0},
		"::ffff:203.0.113.7":    {"::ffff:203.0.113.7", v4, 0},
		"203.0.113.7:6500":      {"203.0.113.7", v4, 6500},
		"2001:db8::7":           {"2001:db8::7", v6, 0},
		"[2001:db8::7]:6500":    {"2001:db8::7", v6, 6500},
		"game.example.org":      {host: "game.example.org"},
		"game.example.org:6500": {host: "game.example.org", port: 6500},
		"localhost":             {host: "localhost"},
	} {
		if got, err := parsePatient(text); err != nil || got != want {
			t.Errorf("parsePatient(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "no where", "203.0.113.7:0", "203.0.113.7:65536", "203.0.113.7:x", "203.0.113.7:", "http://x", "a..b", "-x", "203.0.113.0/24",
		":6500", "[2001:db8::7]", strings.Repeat("x", 254),
	} {
		if got, err := parsePatient(text); err == nil {
			t.Errorf("parsePatient(%q) = %+v, want an error", text, got)
		}
	}
}

func TestAddressesOfPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name, err := parsePatient("game.example.org")
		if err != nil {
			t.Fatal(err)
		}
		lookup := func(list []netip.Addr, err error) func(context.Context, string, string) ([]netip.Addr, error) {
			return func(context.Context, string, string) ([]netip.Addr, error) { return list, err }
		}
		a, b := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
		got, err := name.addresses(t.Context(), lookup([]netip.Addr{netip.MustParseAddr("::ffff:203.0.113.7"), b, a}, nil))
		if err != nil || !slices.Equal(got, []netip.Addr{a, b}) {
			t.Errorf("addresses: %v, %v; want each once", got, err)
		}
		if _, err := name.addresses(t.Context(), lookup(nil, errors.New("no such host"))); err == nil || !strings.Contains(err.Error(), "game.example.org") {
			t.Errorf("unknown name: %v, want an error that names it", err)
		}
		begin := time.Now()
		_, err = name.addresses(t.Context(), func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(begin); err == nil || took != lookupTime {
			t.Errorf("a resolver that does not answer: %v after %v, want an error after %v", err, took, lookupTime)
		}
	})
}
