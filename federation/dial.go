package federation

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/configs"
)

const (
	lookupTimeout = 5 * time.Second
	dialTimeout   = 5 * time.Second
)

// Errors of a dialer.
var (
	errPrivate   = errors.New("its name leads to a private address only; if that is intended, give the master the name lan")
	errNoAddress = errors.New("its name has no IPv4 address")
	errOwn       = errors.New("it is this daemon itself")
)

// dialer opens sockets to masters.
type dialer struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error) // IPv4
	own    func(network string, a netip.AddrPort) bool                  // of this daemon
}

// resolve returns an address of a host of a master. Names are looked up each time: they
// may move, and may not lead into private networks, unless the master is named lan.
func (d *dialer) resolve(ctx context.Context, m *configs.OtherMaster, host, port, network string) (netip.AddrPort, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		if ip, err = d.find(ctx, m, host); err != nil {
			return netip.AddrPort{}, err
		}
	}
	a := netip.AddrPortFrom(ip.Unmap(), uint16(number))
	if d.own(network, a) {
		return a, errOwn
	}
	return a, nil
}

// find looks a name up, and chooses one of its addresses.
func (d *dialer) find(ctx context.Context, m *configs.OtherMaster, host string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	list, err := d.lookup(ctx, host)
	if err != nil {
		return netip.Addr{}, err
	}
	for i := range list {
		list[i] = list[i].Unmap()
	}
	list = slices.DeleteFunc(list, func(a netip.Addr) bool { return !a.Is4() || a.IsUnspecified() || a.IsMulticast() })
	if len(list) == 0 {
		return netip.Addr{}, errNoAddress
	}
	if !m.IsLAN() {
		list = slices.DeleteFunc(list, isPrivate)
	}
	if len(list) == 0 {
		return netip.Addr{}, errPrivate
	}
	return list[rand.N(len(list))], nil // it spreads load
}
