package zanmaster

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// The benchmarks in this file measure a process of its own, so that its use of the
// processor is not mixed up with the client's: the master, or a bare echo that answers
// every datagram with the same packets and looks at nothing.

// TestLoopbackServer is the measured process. Its role has its kind, and the numbers of
// addresses and of servers on each.
func TestLoopbackServer(t *testing.T) {
	if nettest.ChildRole() == "" {
		t.Skip("it is the process that the benchmarks of this file measure")
	}
	var what string
	var addrs, perAddr int
	if _, err := fmt.Sscan(nettest.ChildRole(), &what, &addrs, &perAddr); err != nil {
		t.Fatal(err)
	}
	var c Config
	configs.Defaults(&c)
	c.ListWindow, c.ListsPerNet, c.ListsTotal, c.UnprovedRate = 0, 0, 0, 0
	s := New(Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{PerAddr: 1 << 16, PerNet: 1 << 16})},
		Config:  c,
	})
	populate(t, s.list, addrs, perAddr)
	switch what {
	case "echo":
		nettest.EchoChild(t, func(datagram []byte, send func([]byte)) { send(datagram) })
	case "echolist":
		packets := s.lists().packets
		nettest.EchoChild(t, func(_ []byte, send func([]byte)) {
			for _, p := range packets {
				send(p)
			}
		})
	default:
		conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		nettest.ServeChild(t, conn.LocalAddr(), func(ctx context.Context) error { return s.Serve(ctx, conn) })
	}
}

// measure reports rate and processor time of b.N operations that work does.
func measure(b *testing.B, role string, work func(*net.UDPConn)) {
	b.Helper()
	b.StopTimer()
	child := nettest.StartChild(b, role)
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(child.Addr))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetReadBuffer(4 << 20); err != nil {
		b.Fatal(err)
	}
	before, start := child.Used(), time.Now()
	b.StartTimer()
	work(c)
	b.StopTimer()
	took := time.Since(start)
	b.ReportMetric(float64(b.N)/took.Seconds(), "req/s")
	b.ReportMetric(float64((child.Used()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// ask keeps some requests under way; each is answered with a number of packets.
func ask(b *testing.B, c *net.UDPConn, request []byte, packets int) {
	buf := make([]byte, 64<<10)
	window := max(1, 48/packets)
	sent, lost := 0, 0
	for range min(window, b.N) {
		_, _ = c.Write(request)
		sent++
	}
	for done := 0; done < b.N; done++ {
		for range packets {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := c.Read(buf); err != nil {
				lost++
				break
			}
		}
		if sent < b.N {
			_, _ = c.Write(request)
			sent++
		}
	}
	b.ReportMetric(float64(lost), "lost")
}

func BenchmarkLoopbackList(b *testing.B) {
	request := zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion))
	for _, n := range []struct{ addrs, perAddr, packets int }{{100, 1, 1}, {1000, 1, 7}, {4000, 1, 28}, {500, 10, 13}} {
		for _, what := range []string{"echolist", "master"} {
			b.Run(fmt.Sprintf("%dx%d/%s", n.addrs, n.perAddr, what), func(b *testing.B) {
				measure(b, fmt.Sprintf("%s %d %d", what, n.addrs, n.perAddr), func(c *net.UDPConn) { ask(b, c, request, n.packets) })
			})
		}
	}
}

// BenchmarkLoopbackHeartbeat: heartbeats are not answered, so every 32nd packet
// is one that is.
func BenchmarkLoopbackHeartbeat(b *testing.B) {
	challenge := zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte(hexString), Complete: true, Enforces: true, Revision: current,
	}))
	b.Run("echo", func(b *testing.B) {
		measure(b, "echo 0 0", func(c *net.UDPConn) { ask(b, c, challenge, 1) })
	})
	b.Run("master", func(b *testing.B) {
		measure(b, "master 0 0", func(c *net.UDPConn) {
			buf := make([]byte, 2000)
			read := func() []byte {
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				n, err := c.Read(buf)
				if err != nil {
					b.Fatal(err)
				}
				return zandronum.Decode(nil, buf[:n], 2000)
			}
			_, _ = c.Write(challenge)
			v, ok := zandronum.ParseVerificationRequest(read())
			if !ok {
				b.Fatal("no verification request")
			}
			_, _ = c.Write(zandronum.Encode(nil, zandronum.AppendVerification(nil, v)))
			read() // the ban list
			_, _ = c.Write(zandronum.Encode(nil, zandronum.AppendReceipt(nil, v.Verification)))
			marker := zandronum.Encode(nil, zandronum.AppendListRequest(nil, 1))
			for i := range b.N {
				if i%32 == 31 {
					_, _ = c.Write(marker)
					read()
					continue
				}
				_, _ = c.Write(challenge)
			}
		})
	})
}
