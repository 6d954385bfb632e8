package netserve

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// The echo benchmarks send 1,000 bytes and get 7 back, one exchange at a time
// per client, with the bare calls of package net and with the packet loop.

func BenchmarkEchoBare(b *testing.B) {
	pc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatalf("listen: %v", err)
	}
	_ = pc.SetReadBuffer(DefaultReadBuffer)
	var server sync.WaitGroup
	server.Go(func() {
		buf, out := make([]byte, packetBuffer), []byte("answer!")
		for {
			_, from, err := pc.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteToUDPAddrPort(out, from)
		}
	})
	benchmarkExchanges(b, pc.LocalAddr().String())
	_ = pc.Close()
	server.Wait()
}

func BenchmarkEchoServePackets(b *testing.B) {
	for name, address := range map[string]string{"Bound": "127.0.0.1:0", "Wildcard": "0.0.0.0:0"} {
		b.Run(name, func(b *testing.B) {
			pc := listen(b, "udp4", address, ListenOptions{})
			out := []byte("answer!")
			servePackets(b, pc, packetFunc(func(w PacketWriter, p Packet) {
				_ = w.WritePacket(out, p.To, p.From)
			}), PacketOptions{Metrics: NewMetrics(nil, "test")})
			benchmarkExchanges(b, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), pc.LocalAddr().Port()).String())
		})
	}
}

func benchmarkExchanges(b *testing.B, address string) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c := dial(b, address)
		in, buf := make([]byte, 1000), make([]byte, 100)
		for pb.Next() {
			if _, err := c.Write(in); err != nil {
				b.Errorf("write: %v", err)
				return
			}
			if _, err := c.Read(buf); err != nil {
				b.Errorf("read: %v", err)
				return
			}
		}
	})
}

func BenchmarkLimiterAllow(b *testing.B) {
	for name, sources := range map[string]int{"OneSource": 1, "ManySources": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			l, now := NewLimiter(LimiterOptions{Rate: 1000, Burst: 1000}), time.Now()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				l.Allow(numbered(i&(sources-1)), now)
				i++
			}
		})
	}
}

func BenchmarkDrop(b *testing.B) {
	m := NewMetrics(nil, "test")
	b.ReportAllocs()
	for b.Loop() {
		m.Drop("reason")
	}
}
