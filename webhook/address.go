package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrPrivate means that the name of a hook leads to an address that is not public
// and not allowed.
var ErrPrivate = errors.New("not a public address, and not in its list allow")

const dialTimeout = 5 * time.Second

// dialer returns a dialer that refuses addresses that are neither public nor
// allowed. It checks the address of the connection itself, so that a name
// cannot resolve to another address between check and connection.
func dialer(allow []netip.Prefix) *net.Dialer {
	return &net.Dialer{
		Timeout: dialTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return ErrPrivate
			}
			a := ap.Addr().WithZone("").Unmap()
			if isPublic(a) || slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
				return nil
			}
			return ErrPrivate // the dialer names the address
		},
	}
}

// isPublic reports whether an address is one of the public internet: global
// unicast, and not in a block that is set apart for something else.
func isPublic(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(specialBlocks(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// specialBlocks are the blocks that look global but are not (168.63.129.16 is a
// metadata service for virtual machines), or that embed an IPv4 address that is
// not checked.
func specialBlocks() []netip.Prefix {
	blocks := []string{
		"0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
		"3fff::/20", "5f00::/16", "fec0::/10",
	}
	out := make([]netip.Prefix, len(blocks))
	for i, b := range blocks {
		out[i] = netip.MustParsePrefix(b)
	}
	return out
}
