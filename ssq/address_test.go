package ssq

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
)

func TestClientsGetReachableAddress(t *testing.T) {
	f := newFixture(t)
	table := advertise.New(f.registry)
	table.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.80")}})
	f.server.opt.Addresses = table
	f.list(game{source: "127.0.0.1:7001", rules: []string{"hostname", "Here"}})
	f.list(game{source: "192.0.2.9:7002", rules: []string{"hostname", "Far"}})
	for name, tc := range map[string]struct {
		networks []hostnet.Address
		given    string
	}{
		"outside":        {nil, "203.0.113.80"},
		"on our network": {[]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}}, "10.0.0.5"},
	} {
		table.SetNetworks(tc.networks)
		want := [][]string{{tc.given + ":7001", tc.given, "7001", "Here"}, {"192.0.2.9:7002", "192.0.2.9", "7002", "Far"}}
		if diff := cmp.Diff(want, f.ask("SELECT hostip,ip,port,hostname").Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([][]string{{"Here"}}, f.ask("SELECT hostname WHERE hostip="+tc.given+":7001").Rows); diff != "" {
			t.Errorf("%s, by the address that was given (-want +got):\n%s", name, diff)
		}
	}
}
