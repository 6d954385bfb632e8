package netserve

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestDatagramsOfEverySizeReachTheHandler(t *testing.T) {
	for name, size := range map[string]int{
		"empty": 0, "one byte": 1, "ordinary": 1000, "longest": 65507,
	} {
		t.Run(name, func(t *testing.T) {
			pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
			type seen struct {
				data []byte
				from netip.AddrPort
				to   netip.Addr
			}
			got := make(chan seen, 1)
			reg := prometheus.NewRegistry()
			servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
				got <- seen{bytes.Clone(p.Data), p.From, p.To}
				answer(w, p)
			}), PacketOptions{Metrics: NewMetrics(reg, "test")})
			c := dial(t, pc.LocalAddr().String())
			data := bytes.Repeat([]byte{'x'}, size)
			if got := exchange(t, c, data); got != "answer!" {
				t.Errorf("answer = %q, want %q", got, "answer!")
			}
			p := <-got
			if !bytes.Equal(p.data, data) {
				t.Errorf("handler got %d bytes, want the %d sent", len(p.data), size)
			}
			if want := c.LocalAddr().(*net.UDPAddr).AddrPort(); p.from.Port() != want.Port() || p.from.Addr() != want.Addr().Unmap() {
				t.Errorf("From = %v, want %v", p.from, want)
			}
			if want := pc.LocalAddr().Addr(); p.to != want {
				t.Errorf("To = %v, want %v", p.to, want)
			}
			wantValue(t, reg, "respawnd_packets_received_total", "", 1)
			wantValue(t, reg, "respawnd_bytes_received_total", "", float64(size))
		})
	}
}

func TestSourceOfAnswers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on all of 127.0.0.0/8 without set-up")
	}
	for name, tc := range map[string]struct{ network, listen, ask string }{
		"IPv4 wildcard, first address": {"udp4", "0.0.0.0:0", "127.0.0.1"},
		"IPv4 wildcard, other address": {"udp4", "0.0.0.0:0", "127.0.0.3"},
		"both, IPv4 asked":             {"udp", ":0", "127.0.0.2"},
		"IPv6 wildcard":                {"udp6", "[::]:0", "::1"},
		"both, IPv6 asked":             {"udp", ":0", "::1"},
		"bound to the address":         {"udp4", "127.0.0.2:0", "127.0.0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			ask := netip.MustParseAddr(tc.ask)
			if !isOwnAddr(t, ask) {
				t.Skipf("this host does not have %v", ask)
			}
			pc := listen(t, tc.network, tc.listen, ListenOptions{})
			to := make(chan netip.Addr, 1)
			servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
				to <- p.To
				answer(w, p)
			}), PacketOptions{})
			// A connected client receives nothing from other addresses.
			c := dial(t, netip.AddrPortFrom(ask, pc.LocalAddr().Port()).String())
			if got := exchange(t, c, []byte("?")); got != "answer!" {
				t.Errorf("answer = %q, want %q", got, "answer!")
			}
			if got := <-to; got != ask {
				t.Errorf("To = %v, want %v", got, ask)
			}
		})
	}
}

// isOwnAddr reports whether sockets can be bound to a.
func isOwnAddr(t *testing.T, a netip.Addr) bool {
	t.Helper()
	pc, err := ListenPackets(t.Context(), "udp", netip.AddrPortFrom(a, 0).String(), ListenOptions{})
	if err != nil {
		return false
	}
	_ = pc.Close()
	return true
}

func TestPacketConnSource(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux answers on all of 127.0.0.0/8 without set-up")
	}
	pc := listen(t, "udp4", "0.0.0.0:0", ListenOptions{})
	from := netip.MustParseAddr("127.0.0.2")
	c := dial(t, netip.AddrPortFrom(from, pc.LocalAddr().Port()).String())
	to := c.LocalAddr().(*net.UDPAddr).AddrPort()
	if err := pc.WritePacket([]byte("hello"), from, to); err != nil {
		t.Fatalf("WritePacket from %v to %v: %v", from, to, err)
	}
	buf := make([]byte, 16)
	n, err := c.Read(buf)
	if got := string(buf[:n]); err != nil || got != "hello" {
		t.Errorf("client read %q, %v, want %q", got, err, "hello")
	}
	if err := pc.WritePacket([]byte("hello"), netip.MustParseAddr("192.0.2.1"), to); err == nil {
		t.Error("WritePacket from an address that is not local gave no error")
	}
}

func TestPanicOfPacketHandler(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	var log logLines
	reg := prometheus.NewRegistry()
	stop := servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
		if len(p.Data) == 1 {
			_ = p.Data[len(p.Data)] // out of range
		}
		if len(p.Data) == 2 {
			panic("by hand")
		}
		answer(w, p)
	}), PacketOptions{Log: log.logger(), Metrics: NewMetrics(reg, "test")})
	c := dial(t, pc.LocalAddr().String())
	for range 3 {
		for _, bad := range []string{"1", "22"} {
			if _, err := c.Write([]byte(bad)); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
	}
	if got := exchange(t, c, []byte("good")); got != "answer!" {
		t.Errorf("answer after panics = %q, want %q", got, "answer!")
	}
	wantValue(t, reg, "respawnd_panics_total", "", 6)
	if got := log.count(`"message":"handler panicked"`); got != 2 {
		t.Errorf("%d log lines for two places, want 2", got)
	}
	if got := log.count("netserve.TestPanicOfPacketHandler.func1:"); got != 2 {
		t.Errorf("%d log lines name the place, want 2", got)
	}
	if err := stop(); err != nil {
		t.Errorf("ServePackets = %v, want nil", err)
	}
}

func TestServePacketsWaitsForHandler(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	running, release := make(chan struct{}), make(chan struct{})
	var finished bool // read after ServePackets has returned: the race detector would object
	stop := servePackets(t, pc, packetFunc(func(PacketWriter, Packet) {
		close(running)
		<-release
		finished = true
	}), PacketOptions{Readers: 3})
	if _, err := dial(t, pc.LocalAddr().String()).Write([]byte("x")); err != nil {
		t.Fatalf("write: %v", err)
	}
	<-running
	ended := make(chan error)
	go func() { ended <- stop() }()
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("ServePackets = %v, want nil", err)
	}
	if !finished {
		t.Error("ServePackets returned before its handler")
	}
	waitForNoReaders(t)
}

func TestServePacketsStopsUnderFlood(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	served := make(chan struct{}, 1)
	stop := servePackets(t, pc, packetFunc(func(PacketWriter, Packet) {
		select {
		case served <- struct{}{}:
		default:
		}
	}), PacketOptions{})
	c := dial(t, pc.LocalAddr().String())
	quit := make(chan struct{})
	var flood sync.WaitGroup
	flood.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				_, _ = c.Write([]byte("flood"))
			}
		}
	})
	<-served
	if err := stop(); err != nil {
		t.Errorf("ServePackets = %v, want nil", err)
	}
	close(quit)
	flood.Wait()
}

func TestPacketConnCanBeServedAgain(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	for range 2 {
		stop := servePackets(t, pc, packetFunc(answer), PacketOptions{})
		if got := exchange(t, dial(t, pc.LocalAddr().String()), nil); got != "answer!" {
			t.Errorf("answer = %q, want %q", got, "answer!")
		}
		if err := stop(); err != nil {
			t.Errorf("ServePackets = %v, want nil", err)
		}
	}
}

func TestServePacketsOnClosedSocket(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	ended := make(chan error, 1)
	running := make(chan struct{})
	go func() {
		ended <- ServePackets(t.Context(), pc, packetFunc(func(PacketWriter, Packet) { close(running) }), PacketOptions{Readers: 2})
	}()
	if _, err := dial(t, pc.LocalAddr().String()).Write(nil); err != nil {
		t.Fatalf("write: %v", err)
	}
	<-running
	if err := pc.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("ServePackets = %v, want net.ErrClosed", err)
	}
	if err := ServePackets(t.Context(), pc, packetFunc(answer), PacketOptions{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("ServePackets on a closed PacketConn = %v, want net.ErrClosed", err)
	}
	waitForNoReaders(t)
}

func TestTransientReadErrors(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	var log logLines
	reg := prometheus.NewRegistry()
	stop := servePackets(t, pc, packetFunc(answer), PacketOptions{Log: log.logger(), Metrics: NewMetrics(reg, "test")})
	c := dial(t, pc.LocalAddr().String())
	exchange(t, c, nil) // it runs
	if err := pc.setReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatalf("set deadline: %v", err)
	}
	for value(t, reg, "respawnd_dropped_total", "test", "read_error") < 2*readErrorsFree {
		runtime.Gosched()
	}
	if err := pc.setReadDeadline(time.Time{}); err != nil {
		t.Fatalf("set deadline: %v", err)
	}
	if got := exchange(t, c, nil); got != "answer!" {
		t.Errorf("answer after read errors = %q, want %q", got, "answer!")
	}
	if got := log.count("reading packets has trouble"); got != 1 {
		t.Errorf("%d log lines, want 1", got)
	}
	if err := stop(); err != nil {
		t.Errorf("ServePackets = %v, want nil", err)
	}
}

func TestSeveralSocketsShareOneAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := ListenPackets(t.Context(), "udp4", "127.0.0.1:0", ListenOptions{Sockets: 2}); err == nil {
			t.Error("ListenPackets with two sockets gave no error")
		}
		return
	}
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{Sockets: 2})
	var mu sync.Mutex
	by := map[PacketWriter]int{}
	reg := prometheus.NewRegistry()
	stop := servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
		mu.Lock()
		by[w]++
		mu.Unlock()
		answer(w, p)
	}), PacketOptions{Metrics: NewMetrics(reg, "test")})
	const clients = 64 // the chance that all of them meet one socket is 2^-63
	for range clients {
		exchange(t, dial(t, pc.LocalAddr().String()), nil)
	}
	if err := stop(); err != nil {
		t.Errorf("ServePackets = %v, want nil", err)
	}
	if len(by) != 2 {
		t.Errorf("%d sockets had packets, want 2: %v", len(by), by)
	}
	wantValue(t, reg, "respawnd_packets_received_total", "", clients)
	wantValue(t, reg, "respawnd_packets_sent_total", "", clients)
	wantValue(t, reg, "respawnd_bytes_sent_total", "", clients*float64(len("answer!")))
	waitForNoReaders(t)
}

func TestListenPacketsUnsupported(t *testing.T) {
	taken := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	for name, tc := range map[string]struct {
		network, address string
		opt              ListenOptions
	}{
		"too many sockets": {"udp4", "127.0.0.1:0", ListenOptions{Sockets: MaxSockets + 1}},
		"address taken":    {"udp4", taken.LocalAddr().String(), ListenOptions{}},
		"no address":       {"udp4", "127.0.0.1", ListenOptions{}},
		"stream network":   {"tcp4", "127.0.0.1:0", ListenOptions{}},
		"IPv6 on udp4":     {"udp4", "[::1]:0", ListenOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			if pc, err := ListenPackets(t.Context(), tc.network, tc.address, tc.opt); err == nil {
				_ = pc.Close()
				t.Errorf("ListenPackets(%q, %q, %+v) gave no error", tc.network, tc.address, tc.opt)
			}
		})
	}
}

func TestBuffersReportsGrantedSizes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system is not asked for it")
	}
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{ReadBuffer: 64 << 10, WriteBuffer: 32 << 10})
	if read, write := pc.Buffers(); read != 64<<10 || write != 32<<10 {
		t.Errorf("Buffers() = %d, %d, want %d, %d", read, write, 64<<10, 32<<10)
	}
}

func TestPacketLoopDoesNotAllocate(t *testing.T) {
	for name, address := range map[string]string{"bound": "127.0.0.1:0", "wildcard": "0.0.0.0:0"} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the standard library allocates per call there")
			}
			pc := listen(t, "udp4", address, ListenOptions{})
			out := []byte("answer!")
			servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
				_ = w.WritePacket(out, p.To, p.From)
			}), PacketOptions{Metrics: NewMetrics(nil, "test")})
			c := dial(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), pc.LocalAddr().Port()).String())
			in, buf := make([]byte, 1000), make([]byte, 100)
			got := testing.AllocsPerRun(500, func() {
				if _, err := c.Write(in); err != nil {
					t.Fatalf("write: %v", err)
				}
				if _, err := c.Read(buf); err != nil {
					t.Fatalf("read: %v", err)
				}
			})
			if got != 0 {
				t.Errorf("%v allocations per packet, want 0", got)
			}
		})
	}
}
