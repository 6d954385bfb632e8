package qr2

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/netserve"
)

// forger is a flood of heartbeats under source addresses that are not the
// sender's. They are never answered.
type forger struct {
	perSecond int
	source    func(i int) netip.AddrPort // of the i-th packet
	sent      int
}

// strike sends what is due within d.
func (f *forger) strike(in *intake, d time.Duration) {
	for range int(d * time.Duration(f.perSecond) / time.Second) {
		h := in.host("192.0.2.1:1")
		h.addr, h.instance = f.source(f.sent), uint32(f.sent)+1000
		f.sent++
		_ = in.handle(nettest.Discard{}, netserve.Packet{Data: h.heartbeat("hostname", "forged"), From: h.addr, To: masterAddr})
	}
}

func samePort(int) netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:6500") }
func otherPorts(i int) netip.AddrPort {
	return netip.AddrPortFrom(samePort(0).Addr(), uint16(10_000+i%50_000))
}

func manyAddresses(i int) netip.AddrPort {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x14000000+uint32(i)*7)
	return netip.AddrPortFrom(netip.AddrFrom4(a), 6500)
}

// What strangers send in a host's name must not keep it off the list.
func TestForgedHeartbeatsAgainstNewServer(t *testing.T) {
	const (
		roundTrip = 300 * time.Millisecond
		slice     = 50 * time.Millisecond
		// A flood that fills the table within four seconds, as 2,000 a second do with
		// the default size.
		maxPending, many = 1024, 250
		between          = 10 * time.Second // the first heartbeats of a host
	)
	for name, forgers := range map[string][]forger{
		"other ports":                 {{perSecond: 40, source: otherPorts}},
		"the same port":               {{perSecond: 40, source: samePort}},
		"many addresses":              {{perSecond: many, source: manyAddresses}},
		"other ports, many":           {{perSecond: many, source: otherPorts}},
		"other ports, many addresses": {{perSecond: 40, source: otherPorts}, {perSecond: many, source: manyAddresses}},
		"the same port, many in all":  {{perSecond: 40, source: samePort}, {perSecond: many, source: otherPorts}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newIntake(t, func(o *Options) {
					o.UnprovedRate, o.MaxPending = 20, maxPending
				})
				flood := func(d time.Duration) {
					for ; d > 0; d -= slice {
						for i := range forgers {
							forgers[i].strike(in, slice)
						}
						in.pass(slice)
					}
				}
				flood(15 * time.Second)
				h := in.host(samePort(0).String())
				for range 2 {
					in.w.Take()
					_ = h.send(h.heartbeat())
					replies := in.w.Take()
					flood(roundTrip)
					for _, p := range replies {
						if p.to == h.addr && p.kind() == KindChallenge {
							_ = h.send(h.answer(p.data))
						}
					}
					if h.listed() {
						return
					}
					flood(between - roundTrip)
				}
				t.Errorf("not listed after two heartbeats; last verdict %q", in.verdict(h.addr))
			})
		})
	}
}
