package hostnet

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Own returns the addresses of this machine, IPv6 included; none if the system
// does not report them.
func Own() (out []netip.Addr) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// AddressesOrNone returns Addresses, none if the system does not report them.
func AddressesOrNone() []Address {
	list, err := Addresses()
	if err != nil {
		return nil
	}
	return list
}

// IsBroadcast reports whether an address is the broadcast address of a network
// that this machine is on now.
func IsBroadcast(a netip.Addr) bool {
	for _, own := range AddressesOrNone() {
		if own.Broadcast && own.Prefix.Bits() < 31 && own.Prefix.Contains(a) && a == lastOf(own.Prefix) {
			return true
		}
	}
	return false
}

// lastOf returns the last address of an IPv4 network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) | uint32(1<<(32-p.Bits())-1)
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
