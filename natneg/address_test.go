package natneg

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/meeting"
)

func TestNextPort(t *testing.T) {
	tests := map[string]struct {
		ports     []uint16
		preserved bool
		want      uint16 // 0: no order
	}{
		"one port":                     {[]uint16{5000}, false, 0},
		"cone":                         {[]uint16{5000, 5000, 5000}, false, 0},
		"two alike":                    {[]uint16{5000, 5000}, true, 0},
		"steps of 1":                   {[]uint16{5000, 5001, 5002}, false, 5003},
		"steps of 20":                  {[]uint16{5000, 5020, 5040}, false, 5060},
		"steps of 21":                  {[]uint16{5000, 5021, 5042}, false, 0},
		"steps down":                   {[]uint16{5000, 4998, 4996}, false, 4994},
		"unequal steps":                {[]uint16{5000, 5002, 5003}, false, 0},
		"first preserved, then steps":  {[]uint16{6500, 5001, 5002}, true, 5003},
		"first by chance, then steps":  {[]uint16{6500, 5001, 5002}, false, 0},
		"first preserved, then random": {[]uint16{6500, 5001, 9002}, true, 0},
		"two in a step":                {[]uint16{5000, 5003}, false, 5006},
		"two without order":            {[]uint16{5000, 7003}, false, 0},
		"first preserved, one more":    {[]uint16{6500, 1025}, true, 1026},
		"beyond the last port":         {[]uint16{65533, 65534, 65535}, false, 0},
		"below the first port":         {[]uint16{3, 2, 1}, false, 0},
	}
	for name, tc := range tests {
		got, ok := nextPort(tc.ports, tc.preserved)
		if got != tc.want || ok != (tc.want != 0) {
			t.Errorf("nextPort(%s): got %d, %v, want %d", name, got, ok, tc.want)
		}
	}
}

// someSide returns a client as its inits show it. ports are those of port types 0
// to 3, as seen by so many addresses of ours.
func someSide(public, local string, addresses int, ports ...uint16) side {
	s := side{version: 4, packets: 4, ip: netip.MustParseAddr(public).As4()}
	if local != "" {
		s.local = endpointOf(netip.MustParseAddrPort(local))
	}
	for t, port := range ports {
		if port != 0 {
			s.at[t] = endpoint{s.ip, port}
		}
	}
	s.gamePort = ports[0] != 0
	for i := range s.via {
		s.via[i].socket = uint16(max(0, i-1) % addresses)
	}
	return s
}

func TestRemoteAddress(t *testing.T) {
	const pub, other = "203.0.113.1", "203.0.113.2"
	cone := someSide(pub, "192.168.1.5:6500", 3, 0, 5000, 5000, 5000)
	tests := map[string]struct {
		to, partner side
		index       int
		want        string
	}{
		"negotiation socket": {cone, someSide(other, "", 1, 0, 7000, 7000, 7000), 0, "203.0.113.2:7000"},
		"game socket":        {cone, someSide(other, "", 1, 6500, 7000, 7000, 7000), 0, "203.0.113.2:6500"},
		"steps":              {cone, someSide(other, "", 3, 0, 7000, 7001, 7002), 0, "203.0.113.2:7003"},
		"steps, game socket": {cone, someSide(other, "", 3, 6999, 7000, 7001, 7002), 0, "203.0.113.2:7003"},
		"steps towards one address of ours mean nothing": {
			cone, someSide(other, "", 1, 0, 7000, 7001, 7002), 0, "203.0.113.2:7000",
		},
		"steps, two addresses of ours": {cone, someSide(other, "", 2, 0, 7000, 7001, 7000), 0, "203.0.113.2:7002"},
		"no order":                     {cone, someSide(other, "", 3, 0, 7000, 9001, 4002), 0, "203.0.113.2:7000"},
		"same network":                 {cone, someSide(pub, "192.168.1.9:6501", 3, 0, 7000, 7000, 7000), 1, "192.168.1.9:6501"},
		"same public address, other network, client": {
			cone, someSide(pub, "10.0.0.9:6501", 3, 0, 7000, 7000, 7000), 0, "10.0.0.9:6501",
		},
		"same public address, other network, host": {
			cone, someSide(pub, "10.0.0.9:6501", 3, 0, 7000, 7000, 7000), 1, "203.0.113.1:7000",
		},
		"same public and same local address, client": {
			cone, someSide(pub, "192.168.1.5:6501", 3, 0, 7000, 7000, 7000), 0, "192.168.1.5:6501",
		},
		"same public and same local address, host": {
			cone, someSide(pub, "192.168.1.5:6501", 3, 0, 7000, 7000, 7000), 1, "203.0.113.1:7000",
		},
		"local port unknown": {cone, someSide(pub, "192.168.1.9:0", 3, 0, 7000, 7000, 7000), 0, "203.0.113.1:7000"},
		"local address not private": {
			cone, someSide(pub, "198.51.100.9:6501", 3, 0, 7000, 7000, 7000), 0, "203.0.113.1:7000",
		},
		"both on the server's network": {
			someSide("192.168.1.5", "192.168.1.5:6500", 1, 0, 5000, 5000, 5000),
			someSide("192.168.1.5", "192.168.1.5:6501", 1, 0, 5001, 5001, 5001), 0, "192.168.1.5:5001",
		},
	}
	for name, tc := range tests {
		if got := remote(&tc.to, &tc.partner, tc.index == 0).addrPort(); got != netip.MustParseAddrPort(tc.want) {
			t.Errorf("%s: got %v, want %s", name, got, tc.want)
		}
	}
}

func TestNATKind(t *testing.T) {
	reported := someSide("203.0.113.1", "", 1, 0, 5000, 5000, 5000)
	reported.reportedNAT = meeting.Symmetric
	tests := map[string]struct {
		side side
		want meeting.Kind
	}{
		"its own address":             {someSide("203.0.113.1", "203.0.113.1:5000", 1, 0, 5000, 5000, 5000), meeting.Open},
		"one port for three of us":    {someSide("203.0.113.1", "192.168.1.5:1", 3, 0, 5000, 5000, 5000), meeting.Cone},
		"three ports for three of us": {someSide("203.0.113.1", "192.168.1.5:1", 3, 0, 5000, 5001, 9000), meeting.Symmetric},
		"one of us can't tell":        {someSide("203.0.113.1", "192.168.1.5:1", 1, 0, 5000, 5000, 5000), meeting.Unknown},
		"one of us, but it reports":   {reported, meeting.Symmetric},
	}
	for name, tc := range tests {
		if got := tc.side.nat(); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestAddressesOfNoClientAreNotUsed(t *testing.T) {
	tests := map[string]bool{
		"203.0.113.1:5000":     true,
		"127.0.0.1:5000":       true,
		"192.168.1.5:1":        true,
		"203.0.113.1:0":        false,
		"0.0.0.0:5000":         false,
		"0.1.2.3:5000":         false,
		"224.0.0.1:5000":       false,
		"255.255.255.255:5000": false,
		"[2001:db8::1]:5000":   false,
	}
	for addr, want := range tests {
		if got := usable(netip.MustParseAddrPort(addr)); got != want {
			t.Errorf("usable(%s): got %v, want %v", addr, got, want)
		}
	}
	if usable(netip.AddrPort{}) {
		t.Error("usable of no address: got true")
	}
}
