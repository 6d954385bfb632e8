package configs

import (
	"net"
	"net/netip"
	"reflect"
	"strings"
)

// Service is a service that listens on an address of its own.
type Service struct {
	Name    string // as in the name of its section: "qr2"
	Key     string // the key of its address: "qr2.listen"
	Network string // "udp", "tcp" or "udp+tcp"
	Port    uint16 // the port that clients expect
}

// Listener is an address to open.
type Listener struct {
	Service string // name of the service
	Key     string // the key that gave the address, for messages
	Network string // "udp", "tcp" or "udp+tcp"
	Address string // host:port for net.Listen, never empty
}

// Services returns all services that a configuration has an address for, in the
// order of their sections. The caller owns the slice.
func Services(config any) []Service {
	var all []Service
	for _, k := range keysOf(reflect.TypeOf(config).Elem()) {
		if s, ok := k.service(); ok {
			all = append(all, s)
		}
	}
	return all
}

// service returns the service that listens on the address k, if k is one.
func (k Key) service() (s Service, ok bool) {
	network, port, ok := strings.Cut(k.Field.Tag.Get("listen"), " ")
	if !ok {
		return s, false
	}
	name, _, _ := strings.Cut(k.Name, ".")
	return Service{Name: name, Key: k.Name, Network: network, Port: uint16(must(parseNumber(port, 1, 65535)))}, true
}

// Listeners returns the addresses of all services that are on, in the order of
// Services. A service is off if its address is empty or its key enabled is false.
// The addresses of its keys extra_listen and tls_listen follow the first. The
// caller owns the slice.
func Listeners(config any) []Listener {
	values := make(map[string]reflect.Value)
	for _, k := range Keys(config) {
		values[k.Name] = k.value
	}
	var all []Listener
	for _, s := range Services(config) {
		if on, ok := values[s.Name+".enabled"]; ok && !on.Bool() {
			continue
		}
		address := values[s.Key].String()
		if address == "" {
			continue
		}
		all = append(all, Listener{s.Name, s.Key, s.Network, address})
		if extra := s.Name + ".extra_listen"; values[extra].IsValid() {
			for _, a := range values[extra].Interface().([]string) {
				all = append(all, Listener{s.Name, extra, s.Network, a})
			}
		}
		if tls := s.Name + ".tls_listen"; values[tls].IsValid() && values[tls].String() != "" {
			all = append(all, Listener{s.Name, tls, s.Network, values[tls].String()})
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
	hostA, portA := SplitListen(a.Address)
	hostB, portB := SplitListen(b.Address)
	if portA != portB || portA == 0 {
		return ""
	}
	if hostA != hostB && !hostA.IsUnspecified() && !hostB.IsUnspecified() {
		return ""
	}
	return network
}

// SplitListen returns the parts of the address of a Listener. An empty host is
// the wildcard, localhost is 127.0.0.1.
func SplitListen(address string) (netip.Addr, int) {
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
