package advertise

import (
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

func addr(text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(text)
}

func card(prefix string) hostnet.Address {
	p := netip.MustParsePrefix(prefix)
	return hostnet.Address{Interface: "eth", Prefix: p, Loopback: p.Addr().IsLoopback()}
}

func rule(from, as string) Rule {
	r := Rule{As: netip.MustParseAddr(as)}
	if from != "" {
		r.From = netip.MustParsePrefix(from)
	}
	return r
}

// newTable returns the table of a machine on two private networks and a public
// one, with servers on the addresses.
func newTable(t *testing.T, rules []Rule, servers ...string) (*Table, *master.Registry) {
	t.Helper()
	r := master.NewRegistry(master.Limits{})
	for _, text := range servers {
		at := netip.MustParseAddrPort(text)
		if err := r.Put(master.Server{Origin: master.Static, Key: master.Key{Source: at}, Game: "gmtest", Public: at, Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	table := New(r)
	table.SetRules(rules)
	table.SetNetworks([]hostnet.Address{card("127.0.0.1/8"), card("192.168.1.5/24"), card("172.16.0.1/16"), card("198.51.100.7/28")})
	return table, r
}

func TestGiven(t *testing.T) {
	const (
		local   = "127.0.0.1" // servers
		lan     = "192.168.1.20"
		far     = "10.1.2.3" // on a network that this machine is not on
		farther = "10.9.2.3"
		public  = "203.0.113.77"
	)
	everybody := []Rule{rule("", "203.0.113.5")}
	sites := []Rule{rule("", "203.0.113.5"), rule("10.0.0.0/8", "203.0.113.6"), rule("10.9.0.0/16", "203.0.113.7")}
	for name, tc := range map[string]struct {
		rules         []Rule
		source, named string
		want          map[string]string // by server; other addresses are given as they are
	}{
		"on this machine":                       {everybody, "127.0.0.1", "", nil},
		"on this machine, another loopback":     {everybody, "127.8.8.8", "127.0.0.1", nil},
		"on this machine, IPv6":                 {everybody, "::1", "", nil},
		"on this machine, nothing named":        {everybody, "127.0.0.1", "0.0.0.0", nil},
		"on this machine, under its address":    {everybody, "192.168.1.5", "", map[string]string{local: "192.168.1.5"}},
		"this machine for another":              {everybody, "127.0.0.1", "203.0.113.9", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", far: "203.0.113.5", farther: "203.0.113.5"}},
		"this machine for one of the network":   {everybody, "127.0.0.1", "192.168.1.9", map[string]string{local: "192.168.1.5"}},
		"on the network":                        {everybody, "192.168.1.9", "", map[string]string{local: "192.168.1.5"}},
		"on the network, as IPv6":               {everybody, "::ffff:192.168.1.9", "", map[string]string{local: "192.168.1.5"}},
		"on the other network":                  {everybody, "172.16.3.4", "", map[string]string{local: "172.16.0.1"}},
		"on the network by the named address":   {everybody, "203.0.113.9", "192.168.1.9", map[string]string{local: "192.168.1.5"}},
		"on the public network of this machine": {everybody, "198.51.100.9", "", map[string]string{local: "198.51.100.7", lan: "203.0.113.5", far: "203.0.113.5", farther: "203.0.113.5"}},
		"on the network of a server":            {everybody, "10.1.2.9", "", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", farther: "203.0.113.5"}},
		"there by the named address":            {everybody, "203.0.113.9", "10.1.2.9", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", farther: "203.0.113.5"}},
		"elsewhere":                             {everybody, "203.0.113.9", "", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", far: "203.0.113.5", farther: "203.0.113.5"}},
		"elsewhere without a rule":              {nil, "203.0.113.9", "", nil},
		"on the network without a rule":         {nil, "192.168.1.9", "", map[string]string{local: "192.168.1.5"}},
		"elsewhere with sites":                  {sites, "203.0.113.9", "", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", far: "203.0.113.6", farther: "203.0.113.7"}},
		"elsewhere, one site has a rule":        {sites[1:2], "203.0.113.9", "", map[string]string{far: "203.0.113.6", farther: "203.0.113.6"}},
		"in a site, other /24":                  {sites, "10.7.7.7", "", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", farther: "203.0.113.7"}},
		"in the site within a site":             {sites, "10.9.7.7", "", map[string]string{local: "203.0.113.5", lan: "203.0.113.5", far: "203.0.113.6"}},
	} {
		t.Run(name, func(t *testing.T) {
			table, r := newTable(t, tc.rules, local+":1", lan+":1", far+":1", farther+":1", public+":1")
			askers := map[string]Asker{"Browser": table.Browser(addr(tc.source), addr(tc.named))}
			if tc.named == "" {
				askers["Asker"] = table.Asker(addr(tc.source))
			}
			for kind, a := range askers {
				for _, server := range []string{local, lan, far, farther, public} {
					at := netip.AddrPortFrom(addr(server), 1)
					want := at
					if given, ok := tc.want[server]; ok {
						want = netip.AddrPortFrom(addr(given), 1)
					}
					if got := a.Given(at); got != want {
						t.Errorf("%s: given %v for %v, want %v", kind, got, at, want)
					}
					if s, ok := a.Find(r, want); !ok || a.Given(s.Public) != want {
						t.Errorf("%s: asking for %v found %v, want a server there", kind, want, s)
					}
				}
			}
		})
	}
}

func TestUnknownClientGetsRealAddresses(t *testing.T) {
	var none *Table
	at := netip.MustParseAddrPort("127.0.0.1:1")
	for _, a := range []Asker{{}, none.Outside(), none.Asker(addr("203.0.113.9")), none.Browser(addr("203.0.113.9"), addr("10.0.0.1"))} {
		if a != (Asker{}) || a.Given(at) != at {
			t.Errorf("%+v is given %v, want %v", a, a.Given(at), at)
		}
	}
	if none.Covers(at.Addr()) {
		t.Error("no table covers 127.0.0.1")
	}
}

func TestLocal(t *testing.T) {
	table, _ := newTable(t, []Rule{rule("10.0.0.0/8", "203.0.113.6")})
	list := func(texts ...string) (out []netip.AddrPort) {
		for _, a := range texts {
			out = append(out, netip.AddrPortFrom(addr(a), 7))
		}
		return out
	}
	for name, tc := range map[string]struct {
		source, named string
		local         []netip.AddrPort
		want          string
	}{
		"nothing known":                  {"203.0.113.9", "", list("172.17.0.1", "192.168.7.2"), "172.17.0.1"},
		"own private source":             {"192.168.7.9", "", list("172.17.0.1", "192.168.7.2"), "192.168.7.2"},
		"option of the request":          {"203.0.113.9", "192.168.7.9", list("172.17.0.1", "192.168.7.2"), "192.168.7.2"},
		"the option before the source":   {"10.1.1.1", "192.168.7.9", list("10.1.1.2", "192.168.7.2"), "192.168.7.2"},
		"the source if the option fails": {"172.20.1.1", "192.168.7.9", list("10.1.1.2", "172.20.1.7"), "172.20.1.7"},
		"network of this machine":        {"172.16.200.1", "", list("192.168.7.2", "172.16.3.3"), "172.16.3.3"},
		"network of a rule":              {"10.200.1.1", "", list("192.168.7.2", "10.3.3.3"), "10.3.3.3"},
		"no loopback for others":         {"203.0.113.9", "", list("127.0.0.1", "192.168.7.2"), "192.168.7.2"},
		"nothing but loopback":           {"203.0.113.9", "", list("127.0.0.1"), ""},
		"loopback on this machine":       {"127.0.0.1", "", list("127.0.0.1", "192.168.7.2"), "127.0.0.1"},
		"none that can be joined":        {"203.0.113.9", "", list("0.0.0.0", "255.255.255.255", "224.0.0.1", "2001:db8::1"), ""},
		"none":                           {"127.0.0.1", "", nil, ""},
	} {
		got, ok := table.Browser(addr(tc.source), addr(tc.named)).Local(tc.local)
		if ok != (tc.want != "") || got.Addr() != addr(tc.want) {
			t.Errorf("%s: %v %v, want %q", name, got, ok, tc.want)
		}
	}
}

func TestEqualClients(t *testing.T) {
	table, _ := newTable(t, []Rule{rule("", "203.0.113.5")}, "127.0.0.1:1", "10.1.2.3:1")
	same := func(a, b string) bool { return table.Asker(addr(a)) == table.Asker(addr(b)) }
	for _, pair := range [][2]string{
		{"203.0.113.9", "198.51.100.200"},
		{"127.0.0.1", "127.0.0.2"},
		{"192.168.1.9", "192.168.1.10"},
		{"203.0.113.9", "10.77.1.1"}, // a private network without servers
		{"10.1.2.9", "10.1.2.10"},
	} {
		if !same(pair[0], pair[1]) {
			t.Errorf("%s and %s differ, want one answer for both", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"203.0.113.9", "127.0.0.1"}, {"192.168.1.9", "172.16.0.9"}, {"203.0.113.9", "10.1.2.9"}} {
		if same(pair[0], pair[1]) {
			t.Errorf("%s and %s are equal, want different answers", pair[0], pair[1])
		}
	}
}

func TestChangedFactsMakeOtherAskers(t *testing.T) {
	table, _ := newTable(t, nil, "127.0.0.1:1")
	at := netip.MustParseAddrPort("127.0.0.1:1")
	before := table.Outside()
	table.SetRules(nil)
	table.SetNetworks([]hostnet.Address{card("192.168.1.5/24"), card("172.16.0.1/16"), card("198.51.100.7/28")})
	if table.Outside() != before {
		t.Error("the same facts made another asker")
	}
	table.SetRules([]Rule{rule("", "203.0.113.5")})
	if got := table.Outside().Given(at).Addr(); got != addr("203.0.113.5") || !table.Covers(at.Addr()) {
		t.Errorf("given %v under the new rule, want 203.0.113.5", got)
	}
	if got := before.Given(at); got != at {
		t.Errorf("the asker of before is given %v, want %v as before", got, at)
	}
	table.SetNetworks(nil)
	if got := table.Asker(addr("192.168.1.9")).Given(at).Addr(); got != addr("203.0.113.5") {
		t.Errorf("given %v without networks, want 203.0.113.5", got)
	}
}

func BenchmarkGivenPublic(b *testing.B) {
	t := New(master.NewRegistry(master.Limits{}))
	t.SetRules([]Rule{rule("", "203.0.113.5")})
	a, at := t.Outside(), netip.MustParseAddrPort("203.0.113.77:27960")
	b.ReportAllocs()
	for b.Loop() {
		if a.Given(at) != at {
			b.Fatal("given another address")
		}
	}
}
