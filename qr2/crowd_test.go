package qr2

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
)

// Packets that strangers send in a host's name must not keep it off the list.
func TestForgedHeartbeatsAgainstNewServer(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	const (
		roundTrip = 300 * time.Millisecond
		between   = 10 * time.Second // the first heartbeats of a host
	)
	target := netip.MustParseAddrPort("192.0.2.1:6500")
	for name, floods := range nettest.Floods(target) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newIntake(t, func(o *Options) { o.UnprovedRate, o.MaxPending = 20, nettest.FloodPending })
				forge := func(i int, from netip.AddrPort) {
					h := in.host("192.0.2.1:1")
					h.addr, h.instance = from, uint32(i)+1000
					_ = in.handle(nettest.Discard{}, netserve.Packet{Data: h.heartbeat("hostname", "forged"), From: from, To: masterAddr})
				}
				flood := func(d time.Duration) { nettest.Strike(floods, d, forge, in.pass) }
				flood(15 * time.Second)
				h := in.host(target.String())
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
