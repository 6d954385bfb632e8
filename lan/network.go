package lan

import (
	"encoding/binary"
	"net/netip"

	"github.com/respawnd/respawnd/internal/hostnet"
)

// maxNetworks bounds the networks of one round.
const maxNetworks = 16

// Network is a network that this machine is part of.
type Network struct {
	Prefix    netip.Prefix
	Broadcast netip.Addr // reaches every host on it
}

// Networks returns the IPv4 networks of this machine that have a broadcast
// address, at most 16. It asks the system.
func Networks() ([]Network, error) {
	addresses, err := hostnet.Addresses()
	if err != nil {
		return nil, err
	}
	var out []Network
	for _, a := range addresses {
		if n, ok := networkOf(a.Prefix); ok && a.Broadcast && len(out) < maxNetworks {
			out = append(out, n)
		}
	}
	return out, nil
}

// networkOf returns the network of an address of ours. ok is false if it has no
// broadcast address.
func networkOf(p netip.Prefix) (n Network, ok bool) {
	if !p.Addr().Is4() || p.Bits() == 0 || p.Bits() > 30 || p.Addr().IsLoopback() {
		return n, false
	}
	p = p.Masked()
	ip := p.Addr().As4()
	last := binary.BigEndian.Uint32(ip[:]) | (1<<(32-p.Bits()) - 1)
	binary.BigEndian.PutUint32(ip[:], last)
	return Network{p, netip.AddrFrom4(ip)}, true
}
