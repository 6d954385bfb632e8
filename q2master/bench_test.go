package q2master

import (
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/uplink"
)

// BenchmarkHeartbeat is a heartbeat, its ack and its question.
func BenchmarkHeartbeat(b *testing.B) {
	w := newWorld(b, func(o *Options) { o.Verdicts = nil; quiet(o) })
	p := packetOf(one, header+"heartbeat\n"+drunk)
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
}

// quiet lets the posts send nothing.
func quiet(o *Options) {
	list := make([]netserve.PacketWriter, uplink.PostCount)
	for i := range list {
		list[i] = nettest.Discard{}
	}
	o.Posts = uplink.PostsOf(list)
}

// BenchmarkAnswers is a heartbeat with all answers, which lists the server.
func BenchmarkAnswers(b *testing.B) {
	w := newWorld(b, func(o *Options) { o.Verdicts = nil })
	b.ReportAllocs()
	for b.Loop() {
		w.register(one, drunk)
	}
}

// BenchmarkList is a request for a list that nothing changed since.
func BenchmarkList(b *testing.B) {
	w := newWorld(b, func(o *Options) {
		o.Verdicts = nil
		o.MaxPending, o.ListWindow, o.ListsPerNet, o.ListsTotal = 1<<16, time.Duration(0), 0, 0
	})
	for i := range 1000 {
		w.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 27910), inn)
	}
	p := packetOf(asker, "query")
	b.ReportAllocs()
	for b.Loop() {
		w.ServePacket(nettest.Discard{}, p)
	}
	b.ReportMetric(float64(w.Hosts()), "servers")
}
