package netserve

import (
	"context"
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

// The accept benchmarks connect over loopback, read one byte that the server
// sends, and close, with the bare calls of package net and with the connection
// loop.

func BenchmarkAcceptBare(b *testing.B) {
	ln := listenTCP(b)
	var server sync.WaitGroup
	server.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			server.Go(func() {
				_, _ = c.Write([]byte("x"))
				_ = c.Close()
			})
		}
	})
	benchmarkConnects(b, ln.Addr().String())
	_ = ln.Close()
	server.Wait()
}

func BenchmarkAcceptServeConns(b *testing.B) {
	ln := listenTCP(b)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	greet := connFunc(func(_ context.Context, c *Conn) { _, _ = c.Write([]byte("x")) })
	go func() {
		ended <- ServeConns(ctx, ln, greet, ConnOptions{Rate: 1e9, Burst: 1 << 30, MaxPerAddr: -1, Metrics: NewMetrics(nil, "test")})
	}()
	benchmarkConnects(b, ln.Addr().String())
	cancel()
	if err := <-ended; err != nil {
		b.Errorf("ServeConns = %v, want nil", err)
	}
}

func listenTCP(b *testing.B) net.Listener {
	b.Helper()
	ln, err := new(net.ListenConfig).Listen(b.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return ln
}

func benchmarkConnects(b *testing.B, address string) {
	b.ReportAllocs()
	var d net.Dialer
	var buf [1]byte
	for b.Loop() {
		c, err := d.DialContext(b.Context(), "tcp4", address)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(buf[:]); err != nil {
			b.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetLinger(0) // leaves no connection in TIME_WAIT
		_ = c.Close()
	}
}

// BenchmarkGate enters and leaves among 8,000 connections of 1,000 addresses,
// with room and without; without room each newcomer makes another one leave.
func BenchmarkGate(b *testing.B) {
	for name, most := range map[string]int{"Room": 10000, "Full": 8000} {
		b.Run(name, func(b *testing.B) {
			g, now := NewGate(ConnOptions{MaxConns: most, MaxPerAddr: -1, Rate: -1}), time.Now()
			for i := range 8000 {
				var s *Seat
				s = g.Enter(numbered(i%1000), now, func() { s.Leave() }).Seat
			}
			b.ReportAllocs()
			i := 1000
			for b.Loop() {
				var s *Seat
				s = g.Enter(numbered(i), now, func() { s.Leave() }).Seat
				s.SetState(StateBusy)
				s.SetState(StateIdle)
				s.Leave()
				if i++; most == 8000 { // the heaviest crowd takes the room again
					var s *Seat
					s = g.Enter(numbered(i%1000), now, func() { s.Leave() }).Seat
				}
			}
		})
	}
}
