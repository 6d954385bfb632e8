package qr2

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// newTextFleet returns a service with n listed servers of the text protocol and
// a heartbeat of each.
func newTextFleet(tb testing.TB, n int) (*Server, []netserve.Packet) {
	tb.Helper()
	s := New(Options{
		Config:  quietConfig(),
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue(tb)},
		Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Self:    part.Self{Metrics: netserve.NewMetrics(nil, "qr2", dropNames()...)},
	})
	st, err := query.ParseText([]byte(sampleStatus))
	if err != nil {
		tb.Fatal(err)
	}
	g, _ := s.opt.Games.Lookup("gmtest")
	var packets []netserve.Packet
	for i := range n {
		key := master.Key{Source: spread(i)}
		h, _, _ := s.text.table.pend(key, n+1)
		h.via, h.game = masterAddr, g
		if err := s.text.listText(asked{host: h, from: h.key.Source}, &st, h.record(), time.Now()); err != nil {
			tb.Fatal(err)
		}
		s.text.table.settle(h)
		h.listed, h.home, h.asked = true, h.key.Source, time.Now()
		s.text.table.schedule(h, time.Now().Add(pollLeast))
		packets = append(packets, netserve.Packet{
			Data: fmt.Appendf(nil, `\heartbeat\%d\gamename\gmtest\statechanged\1`, key.Source.Port()), From: key.Source, To: masterAddr,
		})
	}
	return s, packets
}

func BenchmarkTextHeartbeatListed(b *testing.B) {
	for _, n := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, packets := newTextFleet(b, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.ServePacket(nettest.Discard{}, packets[i%n])
				i++
			}
		})
	}
}

// BenchmarkTextPoll is a round with a listed server: the query, the answer with
// its proof, and the record that says the same.
func BenchmarkTextPoll(b *testing.B) {
	in := newIntake(b, nil)
	h := in.textServer("192.0.2.1:26900")
	h.register()
	host := in.text.table.hosts[h.addr]
	b.ReportAllocs()
	for b.Loop() {
		in.text.table.mu.Lock()
		out := in.text.table.startRound(host, time.Now(), nil)
		in.text.table.mu.Unlock()
		if dropped := h.say(h.addr, h.reply(out[0].data)); dropped != uplink.NotDropped {
			b.Fatal(dropped)
		}
	}
}

func BenchmarkTextRegistration(b *testing.B) {
	in := newIntake(b, nil)
	h := in.textServer("192.0.2.1:26900")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		h.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 26900)
		h.source = h.addr
		h.register()
		in.list.Remove(h.key())
		in.text.table.mu.Lock()
		in.text.table.remove(in.text.table.hosts[h.addr])
		in.text.table.mu.Unlock()
		i++
	}
}
