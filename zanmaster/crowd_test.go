package zanmaster

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// Packets that strangers send in a server's name must not keep it off the list.
func TestForgedChallengesAgainstNewServer(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	const roundTrip = 300 * time.Millisecond
	target := netip.MustParseAddrPort("192.0.2.1:10666")
	for name, floods := range nettest.Floods(target) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z := newZan(t, func(o *Options) { o.UnprovedRate, o.MaxPending = 20, nettest.FloodPending })
				forge := func(i int, from netip.AddrPort) {
					g := z.server("192.0.2.1:1")
					g.addr, g.verification = from, fmt.Sprintf("%032x", i)
					z.handle(nettest.Discard{}, netserve.Packet{Data: zandronum.Encode(nil, g.announcement()), From: from, To: masterAddr})
				}
				flood := func(d time.Duration) { nettest.Strike(floods, d, forge, z.pass) }
				flood(15 * time.Second)
				g := z.server(target.String())
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
