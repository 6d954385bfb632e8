package hostnet

import (
	"net/netip"
	"slices"
	"testing"
)

func card(name, prefix string) Address {
	p := netip.MustParsePrefix(prefix)
	return Address{Interface: name, Prefix: p, Broadcast: true, Loopback: p.Addr().IsLoopback()}
}

func tunnel(name, prefix string) Address {
	a := card(name, prefix)
	a.Broadcast, a.Tunnel = false, true
	return a
}

func TestReachableAddressesLikeliestFirst(t *testing.T) {
	lo := card("lo", "127.0.0.1/8")
	for name, tc := range map[string]struct {
		all   []Address
		route string
		want  []string
	}{
		"nothing":               {nil, "", nil},
		"loopback alone":        {[]Address{lo}, "", nil},
		"one card":              {[]Address{lo, card("eth0", "192.168.1.5/24")}, "", []string{"192.168.1.5"}},
		"one card, no internet": {[]Address{card("docker0", "172.17.0.1/16"), card("eth0", "192.168.1.5/24")}, "", []string{"192.168.1.5", "172.17.0.1"}},
		"the way out decides": {
			[]Address{card("eth0", "192.168.1.5/24"), card("wlan0", "192.168.7.5/24")}, "192.168.7.5", []string{"192.168.7.5", "192.168.1.5"},
		},
		"a VPN takes over the way out": {
			[]Address{tunnel("tun0", "10.8.0.2/24"), card("eth0", "192.168.1.5/24")}, "10.8.0.2", []string{"192.168.1.5", "10.8.0.2"},
		},
		"Windows with virtual machines": {
			[]Address{card("vEthernet (WSL)", "172.20.0.1/20"), card("VirtualBox Host-Only Network", "192.168.56.1/24"), card("Ethernet 2", "192.168.178.20/24")},
			"192.168.178.20",
			[]string{"192.168.178.20", "172.20.0.1", "192.168.56.1"},
		},
		"public before private only on the way out": {
			[]Address{card("eth0", "203.0.113.9/24"), card("eth1", "10.0.0.1/24")}, "", []string{"10.0.0.1", "203.0.113.9"},
		},
		"self-given beside another": {[]Address{card("eth0", "169.254.7.7/16"), card("eth1", "10.0.0.1/24")}, "", []string{"10.0.0.1"}},
		"self-given alone":          {[]Address{lo, card("eth0", "169.254.7.7/16")}, "", []string{"169.254.7.7"}},
		"names with short words":    {[]Address{card("enx00tap", "10.0.0.1/24"), card("wg0", "10.9.0.1/24")}, "10.9.0.1", []string{"10.0.0.1", "10.9.0.1"}},
	} {
		var route netip.Addr
		if tc.route != "" {
			route = netip.MustParseAddr(tc.route)
		}
		var got []string
		for _, a := range Reachable(tc.all, route) {
			got = append(got, a.Addr().String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAddressForAClient(t *testing.T) {
	all := []Address{card("lo", "127.0.0.1/8"), card("eth0", "10.0.0.1/8"), card("eth1", "10.1.2.1/24")}
	for client, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "127.9.9.9": "127.0.0.1", "10.7.7.7": "10.0.0.1", "10.1.2.9": "10.1.2.1", "10.1.2.1": "10.1.2.1",
		"192.168.1.1": "invalid IP", "2001:db8::1": "invalid IP",
	} {
		if got := For(netip.MustParseAddr(client), all).String(); got != want {
			t.Errorf("For(%s) = %s, want %s", client, got, want)
		}
	}
}

func TestAddressesOfThisMachine(t *testing.T) {
	all, err := Addresses()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(a Address) bool { return a.Loopback && a.Addr().IsLoopback() }) {
		t.Errorf("Addresses() = %+v, want the loopback among them", all)
	}
	if r := Route(); r.IsValid() && !slices.ContainsFunc(all, func(a Address) bool { return a.Addr() == r }) {
		t.Errorf("Route() = %v, want one of %+v", r, all)
	}
}
