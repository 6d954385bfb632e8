package configs

import (
	"net"
	"net/netip"
	"strings"
)

// Service is a service that listens on an address of its own.
type Service struct {
	Name    string // as in the name of its section: "qr2"
	Key     string // the key of its address: "qr2.listen"
	Network string // "udp", "tcp" or "udp+tcp"
	Port    uint16 // the port that clients expect
}

// Listener is an address that is to be opened.
type Listener struct {
	Service string // name of the service
	Key     string // the key that gave the address, for messages
	Network string // "udp", "tcp" or "udp+tcp"
	Address string // host:port for net.Listen, never empty
}

// Services returns all services that can be configured, built or not, in the
// order of their sections. The caller owns the slice.
func Services() []Service {
	var all []Service
	for _, k := range new(Config).keys() {
		if s, ok := k.service(); ok {
			all = append(all, s)
		}
	}
	return all
}

// service returns the service that listens on the address k, if k is one.
func (k key) service() (s Service, ok bool) {
	network, port, ok := strings.Cut(k.listen, " ")
	if !ok {
		return s, false
	}
	name, _, _ := strings.Cut(k.name, ".")
	return Service{Name: name, Key: k.name, Network: network, Port: uint16(must(parseNumber(port, 1, 65535)))}, true
}

// Listeners returns the addresses of all services that are on, in the order of
// Services. Further addresses of a service follow its first. The caller owns the
// slice.
func (c *Config) Listeners() []Listener {
	keys := make(map[string]key)
	for _, k := range c.keys() {
		keys[k.name] = k
	}
	var all []Listener
	for _, s := range Services() {
		if on, ok := keys[s.Name+".enabled"]; ok && !on.field.Bool() {
			continue
		}
		address := keys[s.Key].field.String()
		if address == "" {
			continue
		}
		all = append(all, Listener{s.Name, s.Key, s.Network, address})
		if extra, ok := keys[s.Name+".extra_listen"]; ok {
			for _, a := range extra.field.Interface().([]string) {
				all = append(all, Listener{s.Name, extra.name, s.Network, a})
			}
		}
	}
	return all
}

// collides returns the network on which only one of the two addresses can be open
// at a time, empty if both can. A wildcard of either family takes the port on all
// addresses. Port 0 is a free port and never collides.
func collides(a, b Listener) (network string) {
	switch {
	case strings.Contains(a.Network, b.Network):
		network = b.Network
	case strings.Contains(b.Network, a.Network):
		network = a.Network
	default:
		return ""
	}
	hostA, portA := splitListen(a.Address)
	hostB, portB := splitListen(b.Address)
	if portA != portB || portA == 0 {
		return ""
	}
	if hostA != hostB && !hostA.IsUnspecified() && !hostB.IsUnspecified() {
		return ""
	}
	return network
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
