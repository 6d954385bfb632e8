package qr2

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
)

// The benchmarks here compare the processor time of the service with that of
// the barest UDP server there is, over real sockets. The one that is measured
// runs in a process of its own, so that the load costs it nothing.

// loopbackHost is the address of the i-th server: all of 127.0.0.0/8 is local.
func loopbackHost(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 1 + byte(i>>16), byte(i >> 8), byte(i)})
}

// TestLoopbackServer is the process that is measured: an echo that answers every
// datagram with 7 bytes, or the service, with the number of listed servers and
// the port that they send from.
func TestLoopbackServer(t *testing.T) {
	switch role := nettest.ChildRole(); role {
	case "":
		t.Skip("it is the process that BenchmarkLoopback measures")
	case "echo":
		nettest.EchoChild(t, func(datagram []byte, send func([]byte)) { send(datagram[:replyHeader]) })
	default:
		var n int
		var port uint16
		if _, err := fmt.Sscanf(role, "%d %d", &n, &port); err != nil {
			t.Fatal(err)
		}
		conn := listen(t)
		f := newFleet(t, n, func(i int) netip.AddrPort { return netip.AddrPortFrom(loopbackHost(i), port) }, conn.LocalAddr().Addr())
		f.packets, f.alive = nil, nil
		nettest.ServeChild(t, conn.LocalAddr(), func(ctx context.Context) error { return f.Serve(ctx, conn, nil) })
	}
}

// burst is how many operations are sent at once; their answers are then waited
// for. Single ones would mostly measure how long a sleeping process takes to wake.
const burst = 64

// load sends datagrams from many addresses and takes one answer per operation.
type load struct {
	conn     *netserve.PacketConn
	answered chan struct{} // one for each full burst of answers
	got      int           // of the current burst; only ServePacket uses it
	sent     int           // of the current burst
}

// ServePacket takes an answer.
func (l *load) ServePacket(netserve.PacketWriter, netserve.Packet) {
	if l.got++; l.got == burst {
		l.got = 0
		l.answered <- struct{}{}
	}
}

func newLoad(b *testing.B) *load {
	b.Helper()
	conn, err := netserve.ListenPackets(b.Context(), "udp4", "0.0.0.0:0", netserve.ListenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	l := &load{conn: conn, answered: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- netserve.ServePackets(ctx, conn, l, netserve.PacketOptions{}) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("load: %v", err)
		}
		_ = conn.Close()
	})
	return l
}

// operation sends the packets of one operation, and waits if it ends a burst.
func (l *load) operation(b *testing.B, from netip.Addr, to netip.AddrPort, packets ...[]byte) {
	for _, p := range packets {
		if err := l.conn.WritePacket(p, from, to); err != nil {
			b.Fatal(err)
		}
	}
	if l.sent++; l.sent < burst {
		return
	}
	l.sent = 0
	select {
	case <-l.answered:
	case <-time.After(10 * time.Second):
		b.Fatal("no answer to a burst")
	}
}

// measure runs operations and reports the processor time of the child for each.
func (l *load) measure(b *testing.B, c *nettest.Child, operation func(i int)) {
	for i := range 100 * burst {
		operation(i)
	}
	before := c.Used()
	n := 0
	for b.Loop() {
		operation(n)
		n++
	}
	b.ReportMetric(float64(c.Used()-before)/float64(n), "cpu-ns/op")
}

// BenchmarkLoopback: compare cpu-ns/op of the two heartbeat rows (a heartbeat
// that changes every time, and a keepalive with its answer: two datagrams in, one
// out) with that of the echo (1,000 bytes in, 7 out). Twice the echo is the goal.
func BenchmarkLoopback(b *testing.B) {
	b.Run("echo", func(b *testing.B) {
		l := newLoad(b)
		c := nettest.StartChild(b, "echo")
		packet := busyHeartbeat(1, "gmtest")
		l.measure(b, c, func(i int) { l.operation(b, loopbackHost(i%1000), c.Addr, packet) })
	})
	for _, n := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint("heartbeat+keepalive/", n), func(b *testing.B) {
			l := newLoad(b)
			c := nettest.StartChild(b, fmt.Sprint(n, " ", l.conn.LocalAddr().Port()))
			heartbeat := busyHeartbeat(1, "gmtest")
			counter := strings.Index(string(heartbeat), counterMark)
			alive := (&host{}).packet(KindKeepalive)
			l.measure(b, c, func(i int) {
				instance := uint32(i % n)
				binary.BigEndian.PutUint32(heartbeat[1:], instance)
				binary.BigEndian.PutUint32(alive[1:], instance)
				count(heartbeat, counter)
				l.operation(b, loopbackHost(i%n), c.Addr, heartbeat, alive)
			})
		})
	}
}
