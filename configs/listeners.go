package configs

import (
	"net"
	"net/netip"
)

// Service is a service that listens on an address of its own.
type Service struct {
	Name    string // as in the name of its section: "qr2"
	Key     string // the key of its address: "qr2.listen"
	Network string // "udp" or "tcp"
	Port    uint16 // the port that clients expect
}

// Listener is an address that is to be opened.
type Listener struct {
	Service string // name of the service
	Key     string // the key that gave the address, for messages
	Network string // "udp" or "tcp"
	Address string // host:port for net.Listen, never empty
}

// Services returns all services that can be configured, built or not, in a fixed
// order. The caller owns the slice.
func Services() []Service {
	return []Service{
		{"qr2", "qr2.listen", "udp", 27900},
		{"serverbrowse", "serverbrowse.listen", "tcp", 28910},
		{"legacylist", "legacylist.listen", "tcp", 28900},
		{"gpcm", "gpcm.listen", "tcp", 29900},
		{"gpsp", "gpsp.listen", "tcp", 29901},
		{"natneg", "natneg.listen", "udp", 27901},
		{"zanmaster", "zanmaster.listen", "udp", 15300},
		{"web", "web.listen", "tcp", 8080},
		{"admin", "admin.listen", "tcp", 8081},
		{"dns", "dns.listen", "udp", 53},
		{"ssq", "ssq.listen", "udp", 26999},
		{"valvemaster", "valvemaster.listen", "udp", 27010},
		{"gstats", "gstats.listen", "tcp", 29920},
		{"cdkey", "cdkey.listen", "udp", 29910},
		{"peerchat", "peerchat.listen", "tcp", 6667},
		{"webservices", "webservices.listen", "tcp", 80},
	}
}

// Listeners returns the addresses of all services that are on, in the order of
// Services. The further addresses of natneg follow its first and belong to the
// same service. The caller owns the slice.
func (c *Config) Listeners() []Listener {
	address := c.addresses()
	var all []Listener
	for _, s := range Services() {
		if address[s.Name] == "" {
			continue
		}
		all = append(all, Listener{s.Name, s.Key, s.Network, address[s.Name]})
		if s.Name == "natneg" {
			for _, a := range c.NATNeg.ExtraListen {
				all = append(all, Listener{s.Name, "natneg.extra_listen", s.Network, a})
			}
		}
	}
	return all
}

// addresses returns the address of each service by name, empty if it is off.
func (c *Config) addresses() map[string]string {
	a := map[string]string{
		"qr2":          c.QR2.Listen,
		"serverbrowse": c.ServerBrowse.Listen,
		"legacylist":   c.LegacyList.Listen,
		"gpcm":         c.GPCM.Listen,
		"gpsp":         c.GPSP.Listen,
		"natneg":       c.NATNeg.Listen,
		"zanmaster":    c.ZanMaster.Listen,
		"web":          c.Web.Listen,
		"admin":        c.Admin.Listen,
		"ssq":          c.SSQ.Listen,
		"valvemaster":  c.ValveMaster.Listen,
		"gstats":       c.GStats.Listen,
		"cdkey":        c.CDKey.Listen,
		"peerchat":     c.Peerchat.Listen,
		"webservices":  c.WebServices.Listen,
	}
	if c.DNS.Enabled {
		a["dns"] = c.DNS.Listen
	}
	return a
}

// collides tells whether only one of the two addresses can be open at a time. A
// wildcard of either family takes the port on all addresses. Port 0 is a free
// port and never collides.
func collides(a, b Listener) bool {
	if a.Network != b.Network && a.Service != "dns" && b.Service != "dns" { // which listens on both
		return false
	}
	hostA, portA := splitListen(a.Address)
	hostB, portB := splitListen(b.Address)
	if portA != portB || portA == 0 {
		return false
	}
	return hostA == hostB || hostA.IsUnspecified() || hostB.IsUnspecified()
}

// splitListen returns the parts of an address that parseListen has accepted. No
// host is the wildcard, localhost is 127.0.0.1.
func splitListen(address string) (netip.Addr, int) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return netip.Addr{}, 0
	}
	switch host {
	case "":
		host = "::"
	case "localhost":
		host = "127.0.0.1"
	}
	ap, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return netip.Addr{}, 0
	}
	return ap.Addr().Unmap(), int(ap.Port())
}
