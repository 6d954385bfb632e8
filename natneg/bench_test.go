package natneg

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
)

func packetFrom(from netip.AddrPort, data []byte) netserve.Packet {
	return netserve.Packet{Data: data, From: from, To: serverAddr}
}

// quiet is a server that is measured: with metrics, without a log.
func quiet() *Server {
	return New(options(func(o *Options) { o.Registerer, o.MaxPerAddr = prometheus.NewRegistry(), 1<<16 }))
}

// maxOpen is the default of Config.MaxOpen.
var maxOpen = DefaultOptions().MaxOpen

// BenchmarkInit handles inits that open a cookie each, among many open ones.
func BenchmarkInit(b *testing.B) {
	s := quiet()
	p := initPacket(0, 0, PortNN1)
	i := uint32(0)
	next := func() {
		i++
		binary.BigEndian.PutUint32(p[8:], i)
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 5000)
		s.ServePacket(nettest.Discard{}, packetFrom(from, p))
	}
	for range maxOpen {
		next()
	}
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
}

// BenchmarkInitAgain handles the repeated inits of one client.
func BenchmarkInitAgain(b *testing.B) {
	s := quiet()
	p := packetFrom(netip.MustParseAddrPort(alice), initPacket(77, 0, PortNN1))
	b.ReportAllocs()
	for b.Loop() {
		s.ServePacket(nettest.Discard{}, p)
	}
}

// BenchmarkPair handles a whole negotiation: 10 datagrams come in and 10 go out.
// One operation is a pair.
func BenchmarkPair(b *testing.B) {
	s := quiet()
	clients := [2]netip.AddrPort{netip.MustParseAddrPort(alice), netip.MustParseAddrPort(bob)}
	packets := pairPackets()
	cookie := uint32(0)
	b.ReportAllocs()
	for b.Loop() {
		cookie++
		for _, p := range packets {
			binary.BigEndian.PutUint32(p.data[8:], cookie)
			s.ServePacket(nettest.Discard{}, packetFrom(clients[p.index], p.data))
		}
	}
	if n := s.Open(); n != 0 {
		b.Errorf("%d cookies are open", n)
	}
}

// pairPacket is a packet that one of two clients sends.
type pairPacket struct {
	index byte
	data  []byte
}

// pairPackets returns the packets of two clients of version 3 in a negotiation.
func pairPackets() []pairPacket {
	var out []pairPacket
	for index := range byte(2) {
		for _, t := range []PortType{PortNN1, PortNN2, PortNN3} {
			out = append(out, pairPacket{index, initPacket(77, index, t)})
		}
	}
	for index := range byte(2) {
		out = append(out, pairPacket{index, connectAckPacket(77, index)})
	}
	for index := range byte(2) {
		out = append(out, pairPacket{index, reportPacket(77, index, 1)})
	}
	return out
}

// BenchmarkTick searches many open cookies for due ones.
func BenchmarkTick(b *testing.B) {
	st := &station{Server: quiet(), t: b, post: &post{}}
	fillCookies(st, maxOpen)
	e := effects{}
	now := st.start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(wheelStep)
		st.advance(now, &e)
	}
}
