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

// startForwarding runs a Forwarding; stop ends it and returns its error.
func startForwarding(t testing.TB, m *Metrics) (f *Forwarding, stop func() error) {
	t.Helper()
	f, err := NewForwarding(ForwardOptions{Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, f.Close())
	})
	t.Cleanup(func() { _ = stop() })
	return f, stop
}

// twoPorts opens two ports that are closed with the test.
func twoPorts(t testing.TB, f *Forwarding) (in, out *ForwardPort) {
	t.Helper()
	var two [2]*ForwardPort
	for i := range two {
		p, err := f.Port(context.Background(), "127.0.0.1:0", ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		two[i] = p
	}
	return two[0], two[1]
}

func connect(t testing.TB, in, out *ForwardPort, r routeFunc) {
	t.Helper()
	if err := in.Connect(out, r); err != nil {
		t.Fatal(err)
	}
}

// addrOf returns the address of a client socket.
func addrOf(c *net.UDPConn) netip.AddrPort { return addrPortOf(c.LocalAddr()) }

func TestForwarding(t *testing.T) {
	reg := prometheus.NewRegistry()
	f, stop := startForwarding(t, NewMetrics(reg, "test", ForwardReasons()...))
	in, out := twoPorts(t, f)
	a, b := dial(t, in.LocalAddr().String()), dial(t, out.LocalAddr().String())
	var routed atomic.Int64
	connect(t, in, out, func(p Packet) (netip.AddrPort, bool) {
		routed.Add(1)
		if p.From != addrOf(a) || p.To != in.LocalAddr().Addr() {
			t.Errorf("a datagram from %v to %v, want %v to %v", p.From, p.To, addrOf(a), in.LocalAddr().Addr())
		}
		if bytes.Equal(p.Data, []byte{'!', 0}) {
			panic("a mistake")
		}
		return addrOf(b), len(p.Data) == 0 || p.Data[0] != '!'
	})

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
		t.Errorf("Serve = %v after its context ended, want nil", err)
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
	reg := prometheus.NewRegistry()
	f, stop := startForwarding(t, NewMetrics(reg, "test"))
	in, out := twoPorts(t, f)
	a, b := dial(t, in.LocalAddr().String()), dial(t, out.LocalAddr().String())
	connect(t, in, out, func(p Packet) (netip.AddrPort, bool) {
		if p.Data[0] == '!' {
			return netip.AddrPortFrom(addrOf(b).Addr(), 0), true
		}
		return addrOf(b), true
	})
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

// Ports that are connected before Serve are served, both directions of a pair work at
// once, and a closed port routes nothing, also when another one takes its number.
func TestForwardPortsComeAndGo(t *testing.T) {
	f, err := NewForwarding(ForwardOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	buf := make([]byte, 10)
	for round := range 3 {
		in, out := twoPorts(t, f)
		a, b := dial(t, in.LocalAddr().String()), dial(t, out.LocalAddr().String())
		var closed atomic.Bool
		route := func(to *net.UDPConn) routeFunc {
			return func(Packet) (netip.AddrPort, bool) {
				if closed.Load() {
					t.Error("a datagram was routed after its port was closed")
				}
				return addrOf(to), true
			}
		}
		connect(t, in, out, route(b))
		connect(t, out, in, route(a))
		if round == 0 {
			go func() { ended <- f.Serve(ctx) }()
		}
		for i := range 2 {
			from, to := a, b
			if i == 1 {
				from, to = b, a
			}
			if _, err := from.Write([]byte{byte(round)}); err != nil {
				t.Fatal(err)
			}
			if n, err := to.Read(buf); err != nil || n != 1 || buf[0] != byte(round) {
				t.Fatalf("round %d: got %x, %v", round, buf[:n], err)
			}
		}
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		_, _ = a.Write([]byte("nowhere")) // an ICMP error may be reported
		if err := in.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("second Close = %v, want net.ErrClosed", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v after its context ended, want nil", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// The cost of a relayed datagram, beside an echo of the same length.
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
		f, _ := startForwarding(b, nil)
		in, out := twoPorts(b, f)
		from, to := dial(b, in.LocalAddr().String()), dial(b, out.LocalAddr().String())
		target := addrOf(to)
		_ = to.SetDeadline(time.Time{})
		connect(b, in, out, func(Packet) (netip.AddrPort, bool) { return target, true })
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

// A port sends datagrams of its own, with the mark of forwarded ones, and none once it is closed.
func TestForwardPortSends(t *testing.T) {
	reg := prometheus.NewRegistry()
	f, _ := startForwarding(t, NewMetrics(reg, "relay", ForwardReasons()...))
	p, _ := twoPorts(t, f)
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	to := c.LocalAddr().(*net.UDPAddr).AddrPort()
	p.Send([]byte("knock"), to)
	buf := make([]byte, 100)
	n, from, err := c.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != "knock" || from != p.LocalAddr() {
		t.Errorf("got %q from %v, %v; want the datagram from %v", buf[:n], from, err, p.LocalAddr())
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.Send([]byte("knock"), to)
	p.Send([]byte("knock"), netip.AddrPort{})
}
