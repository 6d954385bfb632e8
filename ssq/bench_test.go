package ssq

import (
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/netserve"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// BenchmarkSelect answers questions about 10,000 servers. "changed" is with a
// list that changed since the last question, so that it is read again.
func BenchmarkSelect(b *testing.B) {
	f := newFixture(b)
	f.many(10_000)
	for name, query := range map[string]string{
		"fifty":       `SELECT hostname,map,numplayers,maxplayers WHERE game = "gmtest" and maxplayers > 8 X-LIMIT 50 X-TOKEN 0123456789abcdef0123456789abcdef`,
		"all":         "SELECT hostip,hostname,map,numplayers,maxplayers",
		"some":        `SELECT hostip,hostname,map WHERE map = "map7" and numplayers > 14`,
		"none":        `SELECT hostip WHERE hostname = "unknown" or x-gametype != arena`,
		"players":     "SELECT hostip,playername WHERE playername = Ann",
		"one":         "SP info WHERE hostip = 10.1.0.5:20004",
		"games":       "SP x-games",
		"comparisons": "SELECT hostip WHERE x-timelimit > 28 and numplayers > 3 and map != map3 and maxplayers = 16 and hostname > server or map = nowhere",
	} {
		packet := netserve.Packet{Data: append(wire.Header{ID: 1, Count: 1}.AppendTo(nil), query...), From: trustedClient}
		b.Run(name+"/unchanged", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.server.ServePacket(nettest.Discard{}, packet)
			}
		})
		b.Run(name+"/changed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.server.latest = newLatest(f.registry)
				f.server.ServePacket(nettest.Discard{}, packet)
			}
		})
	}
}

// BenchmarkStranger answers questions from addresses that have to prove
// themselves.
func BenchmarkStranger(b *testing.B) {
	f := newFixture(b)
	packet := netserve.Packet{Data: append(wire.Header{ID: 1, Count: 1}.AppendTo(nil), "SELECT hostip,hostname,map,numplayers,maxplayers"...), From: stranger}
	b.ReportAllocs()
	for b.Loop() {
		f.server.ServePacket(nettest.Discard{}, packet)
	}
}
