// Package hostnet returns the IPv4 addresses of this machine, the networks that
// they are on, and those that other machines most likely reach.
//
// It only asks the operating system and sends nothing. It does not follow
// changes: callers ask again.
package hostnet

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Address is an address of this machine.
type Address struct {
	Interface string       // name of the network card, as the system calls it
	Prefix    netip.Prefix // the address itself with the length of its network
	Broadcast bool         // the network supports broadcasts
	Loopback  bool
	Tunnel    bool // a link to one other machine, such as a VPN
}

// Addr returns the address without its network.
func (a Address) Addr() netip.Addr { return a.Prefix.Addr() }

// Addresses returns the IPv4 addresses of the network cards that are up, in the
// order of the system, including loopback addresses.
func Addresses() ([]Address, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []Address
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue // the card is gone meanwhile
		}
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil || !p.Addr().Is4() {
				continue
			}
			out = append(out, Address{
				Interface: i.Name, Prefix: p, Broadcast: i.Flags&net.FlagBroadcast != 0,
				Loopback: i.Flags&net.FlagLoopback != 0, Tunnel: i.Flags&net.FlagPointToPoint != 0,
			})
		}
	}
	return out, nil
}

// Route returns the source address of this machine on its default route, zero
// if it has none. It reads the system's routing table and sends no packet.
func Route() netip.Addr {
	// An address for documentation, to which no special route leads.
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:9")))
	if err != nil {
		return netip.Addr{}
	}
	defer func() { _ = conn.Close() }()
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap()
}

// Reachable returns the addresses that other machines can reach, the most
// likely first: route, the address of the default route (zero: there is none),
// then those of physical cards, then those of virtual ones. Link-local
// addresses are left out if there is any other.
func Reachable(all []Address, route netip.Addr) []Address {
	var out []Address
	for _, a := range all {
		if !a.Loopback && !a.Addr().IsLoopback() && a.Addr().IsGlobalUnicast() {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		for _, a := range all {
			if a.Addr().IsLinkLocalUnicast() {
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Address) int { return cmp.Compare(a.rank(route), b.rank(route)) })
	return out
}

// rank orders addresses; a lower rank is more likely to be reachable.
func (a Address) rank(route netip.Addr) int {
	switch {
	case a.Virtual():
		return 3 // even if the default route leads through it, as with a VPN
	case a.Addr() == route:
		return 0
	case a.Addr().IsPrivate():
		return 1
	default:
		return 2
	}
}

// virtual are words in the names of cards that programs make: containers,
// virtual machines and private networks over the internet.
var virtual = []string{
	"docker", "veth", "virbr", "br-", "lxc", "cni", "podman", "vmnet", "vboxnet", "virtualbox", "vmware", "vethernet", "hyper-v",
	"tun", "tap", "wg", "tailscale", "zerotier", "zt", "hamachi", "wireguard", "openvpn", "utun", "radmin",
}

// Virtual reports whether a program made the card of the address: a container, a
// virtual machine or a private network over the internet.
func (a Address) Virtual() bool {
	name := strings.ToLower(a.Interface)
	return a.Tunnel || slices.ContainsFunc(virtual, func(word string) bool {
		if len(word) <= 3 { // short words could be part of any name
			return strings.HasPrefix(name, word)
		}
		return strings.Contains(name, word)
	})
}

// For returns the address on whose network a client is, the narrowest network
// first; zero if it is on none.
func For(client netip.Addr, all []Address) (best netip.Addr) {
	bits := -1
	for _, a := range all {
		if a.Prefix.Contains(client) && a.Prefix.Bits() > bits {
			best, bits = a.Addr(), a.Prefix.Bits()
		}
	}
	return best
}
