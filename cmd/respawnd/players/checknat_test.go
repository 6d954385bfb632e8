package players

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNATServers(t *testing.T) {
	a := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, n}) }
	names := map[string][]netip.Addr{
		"one.test": {a(1)}, "three.test": {a(1), a(2), a(3), a(4)},
		"named.test": {a(9)}, "natneg1.named.test": {a(1), a(8)}, "natneg2.named.test": {a(2)}, "natneg3.named.test": {a(3)},
		"partly.test": {a(9)}, "natneg1.partly.test": {a(1)}, "natneg2.partly.test": {a(2)},
	}
	lookup := func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if found, ok := names[host]; ok {
			return found, nil
		}
		return nil, errors.New("no such host")
	}
	for args, want := range map[string]string{
		"192.0.2.1":             "192.0.2.1:27901",
		"192.0.2.1:5 192.0.2.2": "192.0.2.1:5 192.0.2.2:27901",
		"::ffff:192.0.2.1":      "192.0.2.1:27901",
		"one.test":              "192.0.2.1:27901",
		"one.test:99":           "192.0.2.1:99",
		"three.test":            "192.0.2.1:27901 192.0.2.2:27901 192.0.2.3:27901",
		"three.test one.test":   "192.0.2.1:27901 192.0.2.1:27901",
		"named.test":            "192.0.2.1:27901 192.0.2.2:27901 192.0.2.3:27901",
		"partly.test":           "192.0.2.9:27901",
	} {
		got, err := natServers(t.Context(), lookup, strings.Fields(args), natnegPort)
		var words []string
		for _, s := range got {
			words = append(words, s.String())
		}
		if diff := cmp.Diff(want, strings.Join(words, " ")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", args, err, diff)
		}
	}
	for _, args := range []string{"none.test", "one.test none.test", "192.0.2.1:0", "192.0.2.1:65536", ":5", "2001:db8::1", "[2001:db8::1]:5"} {
		if got, err := natServers(t.Context(), lookup, strings.Fields(args), natnegPort); err == nil {
			t.Errorf("%s: %v, want an error", args, got)
		}
	}
}
