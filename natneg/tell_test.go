package natneg

import (
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/meeting"
)

// A pair that plays through the relay shows nothing about negotiation to the host.
func TestTell(t *testing.T) {
	host := netip.MustParseAddrPort("192.0.2.2:6500")
	for name, relayed := range map[string]bool{"negotiated": false, "relayed": true} {
		var met []netip.AddrPort
		var meetings meeting.Recorder
		opt := DefaultOptions()
		opt.Met, opt.Meetings = func(a netip.AddrPort) { met = append(met, a) }, &meetings
		registry := prometheus.NewRegistry()
		opt.Registerer = registry
		s := New(opt)
		o := outcome{
			result: resultConnected, relayed: relayed, nats: [2]meeting.Kind{meeting.Symmetric, meeting.Cone},
			clients: [2]endpoint{endpointOf(netip.MustParseAddrPort("192.0.2.1:5000")), endpointOf(host)},
		}
		s.tell(&o)
		if (len(met) == 2) == relayed {
			t.Errorf("%s: met %v", name, met)
		}
		want := map[bool]meeting.Way{false: meeting.Negotiated, true: meeting.Relayed}[relayed]
		if got := meetings.Counts(); len(got) != 1 || got[0].Way != want {
			t.Errorf("%s: counted %v, want %v", name, got, want)
		}
		if n := gathered(t, registry, "respawnd_natneg_pairs_total"); len(n) != 1 || n["cone x symmetric, "+want.String()] != 1 {
			t.Errorf("%s: the metric counts %v", name, n)
		}
		for i, kind := range o.nats {
			if seen, ok := meetings.Of(o.clients[i].addrPort().Addr(), time.Now()); !ok || seen.Kind != kind {
				t.Errorf("%s: player %d was seen behind %v, %v; want %v", name, i, seen, ok, kind)
			}
		}
	}
}
