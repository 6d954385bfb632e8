package natneg

import (
	"cmp"
	"net/netip"
	"testing"
)

func TestNATTest2OnAllAddresses(t *testing.T) {
	addrs := func(list ...string) (out []netip.Addr) {
		for _, a := range list {
			out = append(out, netip.MustParseAddr(a))
		}
		return out
	}
	tests := map[string]struct {
		machine   []netip.Addr
		to        string
		testedAt  string // where NAT test 3 came to; empty: as test 2
		from      string
		answered  string // empty: not
		assumeAll bool
	}{
		"one address":                     {machine: addrs("198.51.100.1"), to: "198.51.100.1", from: alice},
		"two, natneg2 is natneg1":         {machine: addrs("198.51.100.1", "198.51.100.2"), to: "198.51.100.1", testedAt: "198.51.100.1", from: alice, answered: "198.51.100.2"},
		"two, natneg2 is the other":       {machine: addrs("198.51.100.1", "198.51.100.2"), to: "198.51.100.1", testedAt: "198.51.100.2", from: alice},
		"three, natneg2 is the second":    {machine: addrs("198.51.100.1", "198.51.100.2", "198.51.100.3"), to: "198.51.100.1", testedAt: "198.51.100.2", from: alice, answered: "198.51.100.3"},
		"three, natneg2 is the third":     {machine: addrs("198.51.100.1", "198.51.100.2", "198.51.100.3"), to: "198.51.100.1", testedAt: "198.51.100.3", from: alice, answered: "198.51.100.2"},
		"loopback and private, public":    {machine: addrs("127.0.0.1", "192.168.1.2", "198.51.100.1"), to: "198.51.100.1", from: alice},
		"private, seen by a public one":   {machine: addrs("10.0.0.1", "10.0.0.2"), to: "10.0.0.1", from: alice},
		"private, seen by a private one":  {machine: addrs("127.0.0.1", "10.0.0.1", "10.0.0.2"), to: "10.0.0.1", from: "10.0.0.9:5000", answered: "10.0.0.2"},
		"loopback":                        {machine: addrs("127.0.0.1", "10.0.0.1"), to: "127.0.0.1", from: "127.0.0.1:5000", answered: "10.0.0.1"},
		"address that is not told":        {machine: addrs("198.51.100.1", "198.51.100.2"), from: alice},
		"one address, taken for all":      {machine: addrs("198.51.100.1"), to: "198.51.100.1", from: alice, answered: "198.51.100.1", assumeAll: true},
		"two addresses, though not asked": {machine: addrs("198.51.100.1", "198.51.100.2"), to: "198.51.100.1", from: alice, answered: "198.51.100.2", assumeAll: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStation(t, options(func(o *Options) {
				o.Addresses, o.AssumeUnrestricted = func() []netip.Addr { return tc.machine }, tc.assumeAll
			}), "0.0.0.0:40000", "0.0.0.0:27901")
			st.lookAtAddresses()
			ask := func(port PortType, to string) []sent {
				check := Check{Test{PortType: port}}
				p := packetFrom(netip.MustParseAddrPort(tc.from), check.AppendTo(Header{3, TypeNATTest, cookieNATTest}.AppendTo(nil)))
				p.To = netip.Addr{}
				if to != "" {
					p.To = netip.MustParseAddr(to)
				}
				st.handle(0, st.wires[0], p)
				return st.post.Take()
			}
			ask(PortNN3, cmp.Or(tc.testedAt, tc.to))
			switch got := ask(PortNN2, tc.to); {
			case tc.answered == "" && len(got) != 0:
				t.Errorf("got %+v, want no answer", got)
			case tc.answered != "" && (len(got) != 1 || got[0].from.String() != tc.answered || got[0].socket != 0):
				t.Errorf("got %+v, want an answer from %s", got, tc.answered)
			}
		})
	}
}

func TestMachineAddressesOfBoundSocket(t *testing.T) {
	asked := false
	st := newStation(t, options(func(o *Options) { o.Addresses = func() []netip.Addr { asked = true; return nil } }), "")
	st.lookAtAddresses()
	if asked {
		t.Error("a server on one address asked for all of the machine's")
	}
}
