package dnsserver

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/nettest"
)

// TestLoopbackServer is the process that BenchmarkLoopback measures.
func TestLoopbackServer(t *testing.T) {
	switch nettest.ChildRole() {
	case "echo":
		nettest.EchoChild(t, func(datagram []byte, send func([]byte)) { send(datagram) })
	case "dns":
		conn, ln := listen(t)
		f := newServer(t, func(o *Options) {
			o.Rate, o.Burst = 1e9, 1e6
		})
		nettest.ServeChild(t, conn.LocalAddr(), func(ctx context.Context) error { return f.Serve(ctx, conn, ln) })
	default:
		t.Skip("it is the process that BenchmarkLoopback measures")
	}
}

// BenchmarkLoopback compares the processor time that a process spends on
// questions and on echoes of them, over sockets: compare cpu-ns/op. The echo
// may take as little as half of it. Clients send in bursts, so that the wake-up
// of a sleeping process is not measured.
func BenchmarkLoopback(b *testing.B) {
	for _, mode := range []string{"echo", "dns"} {
		b.Run(mode, func(b *testing.B) {
			c := nettest.StartChild(b, mode)
			question := pack(b, about("gmtest.master.gamespy.com", dns.TypeA))
			var left atomic.Int64
			left.Store(int64(b.N))
			before := c.Used()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { askInBursts(b, c.Addr, question, &left) })
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(c.Used()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// askInBursts sends questions until b.N are answered.
func askInBursts(b *testing.B, at netip.AddrPort, question []byte, left *atomic.Int64) {
	const burst = 32
	conn, err := new(net.Dialer).DialContext(b.Context(), "udp4", at.String())
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	packet, buf := append([]byte(nil), question...), make([]byte, 2048)
	for left.Add(-burst) > -burst {
		for i := range burst {
			binary.BigEndian.PutUint16(packet, uint16(i))
			if _, err := conn.Write(packet); err != nil {
				b.Error(err)
				return
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(hang))
		for range burst {
			if _, err := conn.Read(buf); err != nil {
				b.Errorf("no answer: %v", err)
				return
			}
		}
	}
}
