package nettest

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// Flood is a stream of packets under source addresses that are not the sender's.
// They are never answered.
type Flood struct {
	perSecond int
	source    func(i int) netip.AddrPort // of the i-th packet
	sent      int
}

// FloodPending is a bound of unproved hosts that some of Floods fill within four
// seconds, as 2,000 packets a second do with the default bound.
const FloodPending = 1024

// Floods returns floods that may keep a host off a list, by name.
func Floods(host netip.AddrPort) map[string][]*Flood {
	samePort := func(int) netip.AddrPort { return host }
	otherPorts := func(i int) netip.AddrPort { return netip.AddrPortFrom(host.Addr(), uint16(11_000+i%50_000)) }
	manyAddresses := func(i int) netip.AddrPort {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 0x14000000+uint32(i)*7)
		return netip.AddrPortFrom(netip.AddrFrom4(a), host.Port())
	}
	few := func(source func(int) netip.AddrPort) *Flood { return &Flood{perSecond: 40, source: source} }
	many := func(source func(int) netip.AddrPort) *Flood { return &Flood{perSecond: 250, source: source} }
	return map[string][]*Flood{
		"other ports":                 {few(otherPorts)},
		"the same port":               {few(samePort)},
		"many addresses":              {many(manyAddresses)},
		"other ports, many":           {many(otherPorts)},
		"other ports, many addresses": {few(otherPorts), many(manyAddresses)},
		"the same port, many in all":  {few(samePort), many(otherPorts)},
	}
}

// Strike lets a time pass in slices of 50 ms by calling pass, with the packets of
// each in front of it. send is called with their numbers, from 0 on in each flood.
func Strike(floods []*Flood, d time.Duration, send func(i int, from netip.AddrPort), pass func(time.Duration)) {
	const slice = 50 * time.Millisecond
	for ; d > 0; d -= slice {
		for _, f := range floods {
			for range int(slice * time.Duration(f.perSecond) / time.Second) {
				send(f.sent, f.source(f.sent))
				f.sent++
			}
		}
		pass(slice)
	}
}
