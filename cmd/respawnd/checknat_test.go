package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// This machine has no router between itself and the daemon.
func TestCheckNAT(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	at := d.address["natneg"].String()
	env := testEnv(t.TempDir())
	wantIn(t, cli(t, env, "check-nat", at), "public address", "127.0.0.1:", "the same for all that were asked, two", "hosting", "joining", "with symmetric")
	var got struct {
		Router, Mapping, Hosting string
		Seen                     []struct{ Server, Seen string } `json:"seen_from"`
		Pairs                    map[string]string
	}
	if err := json.Unmarshal([]byte(cli(t, env, "check-nat", at, "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Router != "none" && got.Router != "firewall" || got.Mapping != "none" || len(got.Seen) != 2 || got.Hosting == "" || got.Pairs["none"] != "direct" {
		t.Errorf("as JSON: %+v", got)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no address":     {nil, exitUsage, "accepts between 1 and 3"},
		"four addresses": {[]string{"1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"}, exitUsage, "accepts between 1 and 3"},
		"IPv6":           {[]string{"::1"}, exitFailure, "not an IPv4 address"},
		"no port":        {[]string{"127.0.0.1:0"}, exitFailure, "not HOST or HOST:PORT"},
		"no natneg":      {[]string{d.address["qr2"].String()}, exitFailure, "no answer from UDP 127.0.0.1:"},
	} {
		if code, _, errOut := command(t, env, append([]string{"check-nat"}, tt.args...)...); code != tt.code || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, errOut, tt.code, tt.want)
		}
	}
	d.stop()
}

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
