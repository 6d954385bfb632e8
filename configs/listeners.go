package configs

import (
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
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
	for _, s := range addressesOf(reflect.TypeOf(config).Elem()) {
		all = append(all, s.Service)
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

// addresses are the keys of the addresses of a service: paths of their fields, nil for
// a key that it does not have.
type addresses struct {
	Service
	enabled, listen, extra, tls []int
}

var addressesByType sync.Map // of []addresses; they are shared and never change

func addressesOf(t reflect.Type) []addresses {
	if all, ok := addressesByType.Load(t); ok {
		return all.([]addresses)
	}
	paths := make(map[string][]int)
	for _, k := range keysOf(t) {
		paths[k.Name] = k.path
	}
	var all []addresses
	for _, k := range keysOf(t) {
		if s, ok := k.service(); ok {
			all = append(all, addresses{s, paths[s.Name+".enabled"], k.path, paths[s.Name+".extra_listen"], paths[s.Name+".tls_listen"]})
		}
	}
	cached, _ := addressesByType.LoadOrStore(t, all)
	return cached.([]addresses)
}

// Listeners returns the addresses of all services that are on, in the order of
// Services. A service is off if its address is empty or its key enabled is false.
// The addresses of its keys extra_listen and tls_listen follow the first. The
// caller owns the slice.
func Listeners(config any) []Listener {
	root := reflect.ValueOf(config).Elem()
	var all []Listener
	for _, s := range addressesOf(root.Type()) {
		address := root.FieldByIndex(s.listen).String()
		if address == "" || s.enabled != nil && !root.FieldByIndex(s.enabled).Bool() {
			continue
		}
		all = append(all, Listener{s.Name, s.Key, s.Network, address})
		if s.extra != nil {
			for _, a := range root.FieldByIndex(s.extra).Interface().([]string) {
				all = append(all, Listener{s.Name, s.Name + ".extra_listen", s.Network, a})
			}
		}
		if s.tls == nil {
			continue
		}
		if a := root.FieldByIndex(s.tls).String(); a != "" {
			all = append(all, Listener{s.Name, s.Name + ".tls_listen", s.Network, a})
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
