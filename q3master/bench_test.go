package q3master

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
)

func packetOf(from netip.AddrPort, text string) netserve.Packet {
	return netserve.Packet{Data: []byte(text), From: from, To: masterAddr}
}

// populate lists servers.
func (q *q3) populate(n int) {
	for i := range n {
		q.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 27960), "QuakeArena-1")
	}
}

// BenchmarkHeartbeat is a heartbeat and its challenge.
func BenchmarkHeartbeat(b *testing.B) {
	q := newQ3(b, func(o *Options) { o.Verdicts = nil })
	p := packetOf(one, header+"heartbeat QuakeArena-1\n")
	b.ReportAllocs()
	for b.Loop() {
		q.ServePacket(nettest.Discard{}, p)
	}
}

// BenchmarkList is a request for a list that nothing changed since.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q := newQ3(b, func(o *Options) { o.Verdicts = nil; o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0 })
			q.populate(n)
			p := packetOf(asker, header+"getservers 68 empty full")
			b.ReportAllocs()
			for b.Loop() {
				q.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}

// BenchmarkChangedList is a request after a server of 5,000 has changed.
func BenchmarkChangedList(b *testing.B) {
	q := newQ3(b, func(o *Options) { o.Verdicts = nil; o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0 })
	q.populate(5000)
	p := packetOf(asker, header+"getservers 68 empty full")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.register(one, "QuakeArena-1", "clients", fmt.Sprint(i%2))
		q.ServePacket(nettest.Discard{}, p)
	}
}
