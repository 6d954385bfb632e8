package netserve

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// routeFunc is a Router.
type routeFunc func(p Packet) (netip.AddrPort, bool)

func (f routeFunc) Route(p Packet) (netip.AddrPort, bool) { return f(p) }

// forward runs ForwardPackets; stop ends it and returns its error.
func forward(t testing.TB, in, out *PacketConn, r Router, m *Metrics) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ForwardPackets(ctx, in, out, r, ForwardOptions{Metrics: m}) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// addrOf returns the address of a client socket.
func addrOf(c *net.UDPConn) netip.AddrPort { return addrPortOf(c.LocalAddr()) }

func TestForwardPackets(t *testing.T) {
	in, out := listen(t, "udp4", "127.0.0.1:0", ListenOptions{}), listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	a, b := dial(t, in.LocalAddr().String()), dial(t, out.LocalAddr().String())
	reg := prometheus.NewRegistry()
	var routed atomic.Int64
	stop := forward(t, in, out, routeFunc(func(p Packet) (netip.AddrPort, bool) {
		routed.Add(1)
		if p.From != addrOf(a) || p.To != in.LocalAddr().Addr() {
			t.Errorf("a datagram from %v to %v, want %v to %v", p.From, p.To, addrOf(a), in.LocalAddr().Addr())
		}
		if bytes.Equal(p.Data, []byte{'!', 0}) {
			panic("a mistake")
		}
		return addrOf(b), len(p.Data) == 0 || p.Data[0] != '!'
	}), NewMetrics(reg, "test", ForwardReasons()...))

	// More than a batch at once; every third is not wanted, and two do not fit.
	want := [][]byte{bytes.Repeat([]byte{'x'}, MaxForward), {}}
	send := func(p []byte) {
		if _, err := a.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range want {
		send(p)
	}
	send(bytes.Repeat([]byte{'x'}, MaxForward+1))
	send(bytes.Repeat([]byte{'x'}, 9000))
	const many = 100
	for i := range many {
		if i%3 == 0 {
			send([]byte{'!', byte(i)})
			continue
		}
		want = append(want, []byte{byte(i)})
		send([]byte{byte(i)})
	}
	size := 0
	buf := make([]byte, 2*MaxForward)
	for i, w := range want {
		n, err := b.Read(buf)
		if err != nil || !bytes.Equal(buf[:n], w) {
			t.Fatalf("datagram %d: %d bytes, %v, want %d", i, n, err, len(w))
		}
		size += n
	}
	if err := stop(); err != nil {
		t.Errorf("ForwardPackets = %v after its context ended, want nil", err)
	}
	wantValue(t, reg, "respawnd_packets_sent_total", "", float64(len(want)))
	wantValue(t, reg, "respawnd_bytes_sent_total", "", float64(size))
	wantValue(t, reg, "respawnd_dropped_total", dropTooLong, 2)
	wantValue(t, reg, "respawnd_panics_total", "", 1)
	if n := routed.Load(); n != int64(many+2) {
		t.Errorf("%d datagrams were routed, want %d: those that fit", n, many+2)
	}
}

// A datagram that the system refuses is counted, and costs no other.
func TestForwardAfterRefusedDatagram(t *testing.T) {
	in, out := listen(t, "udp4", "127.0.0.1:0", ListenOptions{}), listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	a, b := dial(t, in.LocalAddr().String()), dial(t, out.LocalAddr().String())
	reg := prometheus.NewRegistry()
	stop := forward(t, in, out, routeFunc(func(p Packet) (netip.AddrPort, bool) {
		if p.Data[0] == '!' {
			return netip.AddrPortFrom(addrOf(b).Addr(), 0), true
		}
		return addrOf(b), true
	}), NewMetrics(reg, "test"))
	for _, p := range []string{"!", "one", "!", "!", "two", "!"} {
		if _, err := a.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 10)
	for _, want := range []string{"one", "two"} {
		n, err := b.Read(buf)
		if err != nil || string(buf[:n]) != want {
			t.Fatalf("got %q, %v, want %q", buf[:n], err, want)
		}
	}
	_ = stop()
	wantValue(t, reg, "respawnd_packets_sent_total", "", 2)
}

func TestForwardEndsWithItsSocket(t *testing.T) {
	in, out := listen(t, "udp4", "127.0.0.1:0", ListenOptions{}), listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	ended := make(chan error, 1)
	go func() {
		ended <- ForwardPackets(t.Context(), in, out, routeFunc(func(Packet) (netip.AddrPort, bool) { return netip.AddrPort{}, false }), ForwardOptions{})
	}()
	_ = in.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("ForwardPackets = %v after its socket was closed, want net.ErrClosed", err)
	}
}

// A relayed datagram beside an echo of the same length: what a relay may cost.
func BenchmarkForward(b *testing.B) {
	payload := bytes.Repeat([]byte{'x'}, 200)
	exchange := func(b *testing.B, from, to *net.UDPConn) {
		buf := make([]byte, 500)
		for b.Loop() {
			if _, err := from.Write(payload); err != nil {
				b.Fatal(err)
			}
			if _, err := to.Read(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("forward", func(b *testing.B) {
		in, out := listen(b, "udp4", "127.0.0.1:0", ListenOptions{}), listen(b, "udp4", "127.0.0.1:0", ListenOptions{})
		from, to := dial(b, in.LocalAddr().String()), dial(b, out.LocalAddr().String())
		target := addrOf(to)
		_ = to.SetDeadline(time.Time{})
		forward(b, in, out, routeFunc(func(Packet) (netip.AddrPort, bool) { return target, true }), nil)
		exchange(b, from, to)
	})
	b.Run("echo", func(b *testing.B) {
		pc := listen(b, "udp4", "127.0.0.1:0", ListenOptions{})
		c := dial(b, pc.LocalAddr().String())
		_ = c.SetDeadline(time.Time{})
		servePackets(b, pc, packetFunc(func(w PacketWriter, p Packet) { _ = w.WritePacket(p.Data, p.To, p.From) }), PacketOptions{})
		exchange(b, c, c)
	})
}
