package dnsserver

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/netserve"
)

// BenchmarkServePacket is a question and its answer without the sockets; see
// BenchmarkLoopback for those.
func BenchmarkServePacket(b *testing.B) {
	for name, m := range map[string]*dns.Msg{
		"own":       about("gmtest.master.gamespy.com", dns.TypeA),
		"own, EDNS": about("gmtest.master.gamespy.com", dns.TypeA).SetEdns0(1232, false),
		"IPv6":      about("gmtest.master.gamespy.com", dns.TypeAAAA),
		"refused":   about("www.example.org", dns.TypeA),
	} {
		b.Run(name, func(b *testing.B) {
			f := newServer(b, func(o *Options) {
				o.Rate, o.Burst = 1e9, 1e6
			})
			p := netserve.Packet{Data: pack(b, m), From: netip.MustParseAddrPort("192.168.1.77:5353")}
			b.ReportAllocs()
			for b.Loop() {
				f.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}
