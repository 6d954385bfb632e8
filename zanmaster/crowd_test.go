package zanmaster

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// forger is a flood of challenges under source addresses that are not the
// sender's. They are never answered.
type forger struct {
	perSecond int
	source    func(i int) netip.AddrPort // of the i-th packet
	sent      int
}

// strike sends what is due within d.
func (f *forger) strike(z *zan, d time.Duration) {
	for range int(d * time.Duration(f.perSecond) / time.Second) {
		g := z.server("192.0.2.1:1")
		g.addr, g.verification = f.source(f.sent), fmt.Sprintf("%032x", f.sent)
		f.sent++
		z.handle(nettest.Discard{}, netserve.Packet{Data: zandronum.Encode(nil, g.announcement()), From: g.addr, To: masterAddr})
	}
}

func samePort(int) netip.AddrPort { return netip.MustParseAddrPort("192.0.2.1:10666") }

func otherPorts(i int) netip.AddrPort {
	return netip.AddrPortFrom(samePort(0).Addr(), uint16(11_000+i%50_000))
}

func manyAddresses(i int) netip.AddrPort {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x14000000+uint32(i)*7)
	return netip.AddrPortFrom(netip.AddrFrom4(a), 10666)
}

// What strangers send in a server's name must not keep it off the list.
func TestForgedChallengesAgainstNewServer(t *testing.T) {
	const (
		roundTrip = 300 * time.Millisecond
		slice     = 50 * time.Millisecond
		// A flood that fills the table within four seconds, as 2,000 a second do with
		// the default size.
		maxPending, many = 1024, 250
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
				z := newZan(t, func(o *Options) {
					o.UnprovedRate, o.MaxPending = 20, maxPending
				})
				flood := func(d time.Duration) {
					for ; d > 0; d -= slice {
						for i := range forgers {
							forgers[i].strike(z, slice)
						}
						z.pass(slice)
					}
				}
				flood(15 * time.Second)
				g := z.server(samePort(0).String())
				z.w.Take()
				_ = g.announce()
				requests := z.w.Take()
				flood(roundTrip)
				for _, p := range requests {
					if v, ok := zandronum.ParseVerificationRequest(p.message); ok && p.to == g.addr {
						_ = g.verify(v.Number)
					}
				}
				if !g.listed() {
					t.Errorf("not listed after its first challenge; last verdict %q", z.verdict(g.addr))
				}
			})
		})
	}
}

// A server that a newcomer replaced has a verdict, and has to verify itself again.
func TestReplaced(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	srv, ok := z.list.At(g.addr)
	if !ok {
		t.Fatal("not listed")
	}
	z.list.Remove(srv.Key)
	z.Replaced(srv)
	if got := z.verdict(g.addr); got != "replaced by a newcomer" {
		t.Errorf("verdict: got %q", got)
	}
	g.register()
	if !g.listed() {
		t.Errorf("not listed again; last verdict %q", z.verdict(g.addr))
	}
}
