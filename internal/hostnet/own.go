package hostnet

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
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

// Broadcasts knows the broadcast addresses of the networks that this machine is on. The
// zero Broadcasts is ready for use, concurrent use too.
type Broadcasts struct {
	// Read returns the addresses of this machine; nil: AddressesOrNone.
	Read func() []Address

	known atomic.Pointer[broadcasts]
}

// broadcasts are the addresses at a time.
type broadcasts struct {
	list []netip.Addr
	till time.Time
}

// broadcastsFor is how long the addresses are taken as they were: asking the system takes
// as long as a hundred answers.
const broadcastsFor = time.Second

// Has reports whether an address is the broadcast address of a network that this machine
// was on within the last second.
func (b *Broadcasts) Has(a netip.Addr) bool {
	known, now := b.known.Load(), time.Now()
	if known == nil || !now.Before(known.till) {
		known = &broadcasts{till: now.Add(broadcastsFor)}
		read := b.Read
		if read == nil {
			read = AddressesOrNone
		}
		for _, own := range read() {
			if own.Broadcast && own.Prefix.Bits() < 31 {
				known.list = append(known.list, lastOf(own.Prefix))
			}
		}
		b.known.Store(known)
	}
	return slices.Contains(known.list, a)
}

// lastOf returns the last address of an IPv4 network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) | uint32(1<<(32-p.Bits())-1)
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
