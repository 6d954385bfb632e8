package query

import "net/netip"

// Askable reports whether a packet to an address can reach one server and
// no other host: an IPv4 address with a port, neither multicast nor broadcast.
func Askable(a netip.AddrPort) bool {
	ip := a.Addr()
	return ip.Is4() && a.Port() != 0 && !ip.IsMulticast() && ip.As4()[0] != 0 && ip.As4()[0] < 240
}
