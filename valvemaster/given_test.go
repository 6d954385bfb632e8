package valvemaster

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

func TestBrowsersGetReachableAddress(t *testing.T) {
	v := newValve(t, func(o *Options) {
		o.Addresses = advertise.New(o.Registry)
		o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.80")}})
		o.Addresses.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	})
	list := func(a string, rules map[string]string) {
		t.Helper()
		if err := put(v.opt.Registry, netip.MustParseAddrPort(a), Origin, rules); err != nil {
			t.Fatal(err)
		}
	}
	outside := v.opt.Addresses.Outside()
	rules := map[string]string{"hostname": "One"}
	list("192.0.2.1:27015", rules)
	if all := v.lister.current(0); all.givenTo(outside) != all {
		t.Error("a list without private servers is not shared by all")
	}
	list("127.0.0.1:27016", rules)
	list("10.0.0.20:27017", rules)
	list("10.0.0.21:27017", rules) // behind the same address for those outside
	now := v.lister.current(viewEvery)
	if now.givenTo(outside) != now.givenTo(v.opt.Addresses.Asker(netip.MustParseAddr("172.16.1.1"))) {
		t.Error("browsers outside do not share a list")
	}
	for asker, want := range map[string][]string{
		"203.0.113.1": {"192.0.2.1:27015", "203.0.113.80:27016", "203.0.113.80:27017"},
		"10.0.0.9":    {"10.0.0.20:27017", "10.0.0.21:27017", "10.0.0.5:27016", "192.0.2.1:27015"},
		"127.0.0.1":   {"10.0.0.20:27017", "10.0.0.21:27017", "127.0.0.1:27016", "192.0.2.1:27015"},
	} {
		var got []string
		view := now.givenTo(v.opt.Addresses.Asker(netip.MustParseAddr(asker)))
		if !slices.IsSortedFunc(view.entries, func(a, b *entry) int { return a.addr.Compare(b.addr) }) {
			t.Errorf("the list for %s is not in the order of addresses", asker)
		}
		for _, e := range view.entries {
			got = append(got, e.addr.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("list for %s: %q, want %q", asker, got, want)
		}
	}
	v.opt.Registry.RemoveFunc(func(s *master.Server) bool { return master.IsPrivate(s.Public.Addr()) })
	if all := v.lister.current(2 * viewEvery); all.givenTo(outside) != all || len(all.entries) != 1 {
		t.Error("without its private servers the list is not shared by all")
	}
}

// Pages continue where the last one ended, in the addresses that the browser was given.
func TestWalkOverGivenAddresses(t *testing.T) {
	v := newValve(t, func(o *Options) {
		o.Addresses = advertise.New(o.Registry)
		o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.80")}})
	})
	var want []string
	for i := range 100 {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), uint16(27000+i))
		if err := put(v.opt.Registry, a, Origin, map[string]string{"hostname": "One"}); err != nil {
			t.Fatal(err)
		}
		want = append(want, netip.AddrPortFrom(netip.MustParseAddr("203.0.113.80"), a.Port()).String())
	}
	got, pages := v.walk("203.0.113.1:4000", AnyRegion, "")
	slices.Sort(got)
	if !slices.Equal(got, want) || len(pages) < 2 {
		t.Errorf("%d pages with %d servers, want all %d under the advertised address", len(pages), len(got), len(want))
	}
}
