package qr2

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// counterMark stands in a heartbeat where a number is that changes every time.
const counterMark = "00000000"

// busyHeartbeat is the heartbeat of a busy server: 40 rules, 8 players, 2 teams, 1,000
// bytes, with a counter in it.
func busyHeartbeat(instance uint32, game string) []byte {
	h := host{instance: instance, game: game}
	list := []string{"hostname", "A busy server", "gamever", "1.0", "hostport", "25000", "mapname", "a_map", "counter", counterMark}
	for i := len(list)/2 + 4; i < 40; i++ {
		list = append(list, fmt.Sprintf("setting_%02d", i), fmt.Sprintf("value %02d", i))
	}
	b := h.heartbeat(list...)
	var values []string
	for i := range 8 {
		values = append(values, fmt.Sprintf("A player %d", i), "12", "45", "1")
	}
	b = table(b, 8, []string{"player_", "score_", "ping_", "team_"}, values...)
	b = table(b, 2, []string{"team_t", "score_t"}, "Red", "10", "Blue", "12")
	if pad := 1000 - len(b); pad > 0 {
		b = bytes.Replace(b, []byte("A busy server"), append([]byte("A busy server"), bytes.Repeat([]byte("!"), pad)...), 1)
	}
	return b
}

// count puts the next number into a heartbeat.
func count(b []byte, at int) {
	for i := at + len(counterMark) - 1; i >= at; i-- {
		if b[i]++; b[i] <= '9' {
			return
		}
		b[i] = '0'
	}
}

// fleet is a service with n listed servers.
type fleet struct {
	*Server
	packets []netserve.Packet // a heartbeat of each
	at      int               // of the counter
	alive   []netserve.Packet // a keepalive of each
}

// spread gives every two servers an address of their own.
func spread(i int) netip.AddrPort {
	a := i / 2
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(a >> 16), byte(a >> 8), byte(a)}), uint16(6500+i%2))
}

func newFleet(t testing.TB, n int, addr func(i int) netip.AddrPort, via netip.Addr) *fleet {
	t.Helper()
	f := &fleet{Server: New(Options{
		Config:  quietConfig(),
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue(t)},
		Peers:   part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Self:    part.Self{Metrics: netserve.NewMetrics(nil, "qr2", dropNames()...)},
	})}
	for i := range n {
		h := host{instance: uint32(i), game: "gmtest", addr: addr(i)}
		b := busyHeartbeat(h.instance, h.game)
		f.at = bytes.Index(b, []byte(counterMark))
		srv := master.Server{Origin: Origin, Key: h.key(), Game: h.game, Public: h.addr, Via: via, NATNeg: true, Seen: time.Now()}
		fixed, err := peek(b)
		if err != nil {
			t.Fatal(err)
		}
		srv.Local = fixed.local(netip.Addr{}, nil)
		f.source.Into(&srv, f.source.Text(b[header:]))
		if err := f.list.Put(srv); err != nil {
			t.Fatal(err)
		}
		f.packets = append(f.packets, netserve.Packet{Data: b, From: h.addr, To: masterAddr})
		f.alive = append(f.alive, netserve.Packet{Data: h.packet(KindKeepalive), From: h.addr, To: masterAddr})
	}
	return f
}

func fleets(b *testing.B, run func(b *testing.B, f *fleet)) {
	for _, n := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFleet(b, n, spread, masterAddr)
			b.ReportAllocs()
			run(b, f)
		})
	}
}

// BenchmarkHeartbeatListed is the report of a listed server that changed since
// the last one: two allocations, the record and its text.
func BenchmarkHeartbeatListed(b *testing.B) {
	fleets(b, func(b *testing.B, f *fleet) {
		i := 0
		for b.Loop() {
			p := f.packets[i%len(f.packets)]
			count(p.Data, f.at)
			f.ServePacket(nettest.Discard{}, p)
			i++
		}
	})
}

func BenchmarkHeartbeatWithoutNews(b *testing.B) {
	fleets(b, func(b *testing.B, f *fleet) {
		i := 0
		for b.Loop() {
			f.ServePacket(nettest.Discard{}, f.packets[i%len(f.packets)])
			i++
		}
	})
}

func BenchmarkKeepalive(b *testing.B) {
	fleets(b, func(b *testing.B, f *fleet) {
		i := 0
		for b.Loop() {
			f.ServePacket(nettest.Discard{}, f.alive[i%len(f.alive)])
			i++
		}
	})
}

// lastSent keeps the last packet sent.
type lastSent struct {
	buf [MaxReply]byte
	n   int
}

func (l *lastSent) WritePacket(data []byte, _ netip.Addr, _ netip.AddrPort) error {
	l.n = copy(l.buf[:], data)
	return nil
}

// BenchmarkRegistration is a server that reports, proves itself, is listed and
// leaves, with the work of the server itself for its proof.
func BenchmarkRegistration(b *testing.B) {
	const hosts = 4096
	in := newIntake(b, nil)
	var w lastSent
	hello, bye := busyHeartbeat(1, "gmtest"), busyHeartbeat(1, "gmtest")
	hello = bytes.Replace(hello, []byte("natneg\x00"), []byte("statechanged\x003\x00natneg\x00"), 1)
	bye = bytes.Replace(bye, []byte("natneg\x00"), []byte("statechanged\x002\x00natneg\x00"), 1)
	var answer []byte
	send := func(i int, data []byte) {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 6500)
		if dropped := in.handle(&w, netserve.Packet{Data: data, From: from, To: masterAddr}); dropped != uplink.NotDropped {
			b.Fatal(dropped)
		}
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		send(i, hello)
		answer = AppendResponse(answer[:0], 1, secret, w.buf[replyHeader:w.n])
		send(i, answer)
		send(i, bye)
		i = (i + 1) % hosts
	}
	if in.list.Len() != 0 {
		b.Errorf("%d servers are listed, want none: all have left", in.list.Len())
	}
}

// BenchmarkFirstRead is the first look at the report of a server that has just been
// listed.
func BenchmarkFirstRead(b *testing.B) {
	f := newFleet(b, 1, spread, masterAddr)
	text := f.source.Text(f.packets[0].Data[header:])
	b.ReportAllocs()
	for b.Loop() {
		var s master.Server
		f.source.Into(&s, text)
		if s.Rules.Len() != 40 {
			b.Fatal(s.Rules.Len())
		}
	}
}
