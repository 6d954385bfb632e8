package legacylist

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// startWithAddresses starts the service on a machine on 10.0.0.5/24 whose servers
// are advertised as 203.0.113.5.
func startWithAddresses(t *testing.T) *fixture {
	return start(t, func(o *Options) {
		o.Registry = master.NewRegistry(master.Limits{})
		o.Addresses = advertise.New(o.Registry)
		o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}})
		o.Addresses.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	})
}

// viewFor returns the list for an asker.
func (f *fixture) viewFor(t *testing.T, asker string, mode Mode) *view {
	t.Helper()
	game, _ := testGames(t).Lookup("gmtest")
	v, err := f.srv.view(game, &inquiry{mode: mode}, f.srv.opt.Addresses.Asker(netip.MustParseAddr(asker)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestListsWithoutPrivateServersAreShared(t *testing.T) {
	f := startWithAddresses(t)
	put(t, f.reg, "gmtest", "192.0.2.1:7003", qr2.OldOrigin)
	want := f.viewFor(t, "203.0.113.9", Plain)
	for _, asker := range []string{"127.0.0.1", "10.0.0.9", "192.168.7.7"} {
		if f.viewFor(t, asker, Plain) != want {
			t.Errorf("%s gets a list of its own", asker)
		}
	}
}

func TestAddressesByAsker(t *testing.T) {
	f := startWithAddresses(t)
	put(t, f.reg, "gmtest", "192.0.2.1:7003", qr2.OldOrigin)
	put(t, f.reg, "gmtest", "127.0.0.1:7001", qr2.OldOrigin)
	put(t, f.reg, "gmtest", "10.0.0.20:7002", qr2.OldOrigin)
	for asker, want := range map[string][]string{
		"127.0.0.9":   {"10.0.0.20:7002", "127.0.0.1:7001", "192.0.2.1:7003"},
		"10.0.0.9":    {"10.0.0.20:7002", "10.0.0.5:7001", "192.0.2.1:7003"},
		"203.0.113.9": {"192.0.2.1:7003", "203.0.113.5:7001", "203.0.113.5:7002"},
	} {
		if got := addressesOf(t, string(f.viewFor(t, asker, Plain).Bytes)); !slices.Equal(got, want) {
			t.Errorf("plain list for %s: %q, want %q", asker, got, want)
		}
		var got []string
		for address := range tableOf(t, string(f.viewFor(t, asker, Info).Bytes)) {
			got = append(got, address)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("table for %s: %q, want %q", asker, got, want)
		}
		servers, err := ParseCompact(f.viewFor(t, asker, Compact).Bytes)
		if err != nil || !slices.Equal(sorted(servers), want) {
			t.Errorf("compact list for %s: %v, %v, want %q", asker, servers, err, want)
		}
	}
	if got := addressesOf(t, f.connect(t).ask(request(nil))); !slices.Contains(got, "127.0.0.1:7001") {
		t.Errorf("list on this machine: %q, want 127.0.0.1:7001 in it", got)
	}
}
