package netserve

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
)

type packetFunc func(w PacketWriter, p Packet)

func (f packetFunc) ServePacket(w PacketWriter, p Packet) { f(w, p) }

type connFunc func(ctx context.Context, c *Conn)

func (f connFunc) ServeConn(ctx context.Context, c *Conn) { f(ctx, c) }

// answer is the handler of an echo with a fixed answer.
func answer(w PacketWriter, p Packet) { _ = w.WritePacket([]byte("answer!"), p.To, p.From) }

// listen opens a PacketConn that is closed with the test.
func listen(t testing.TB, network, address string, opt ListenOptions) *PacketConn {
	t.Helper()
	pc, err := ListenPackets(context.Background(), network, address, opt)
	if err != nil {
		t.Fatalf("ListenPackets(%q, %q, %+v): %v", network, address, opt, err)
	}
	t.Cleanup(func() { _ = pc.Close() })
	return pc
}

// servePackets runs ServePackets; stop ends it and returns its error.
func servePackets(t testing.TB, pc *PacketConn, h PacketHandler, opt PacketOptions) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ServePackets(ctx, pc, h, opt) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// dial returns a client socket that talks to address and gives up after a minute.
func dial(t testing.TB, address string) *net.UDPConn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(context.Background(), "udp", address)
	if err != nil {
		t.Fatalf("dial %s: %v", address, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatalf("set deadline: %v", err)
	}
	return c.(*net.UDPConn)
}

// exchange sends data and returns the answer.
func exchange(t testing.TB, c net.Conn, data []byte) string {
	t.Helper()
	if _, err := c.Write(data); err != nil {
		t.Fatalf("write %d bytes: %v", len(data), err)
	}
	buf := make([]byte, 1500)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatalf("read the answer to %d bytes: %v", len(data), err)
	}
	return string(buf[:n])
}

// value returns a metric of a service, of one reason if that is not empty.
func value(t testing.TB, reg *prometheus.Registry, name, service, reason string) float64 {
	t.Helper()
	values := []string{service, reason}
	if reason == "" {
		values = values[:1]
	}
	v, _ := metrictest.Find(t, reg, name, values...)
	return v
}

// wantValue compares a metric of service "test".
func wantValue(t testing.TB, reg *prometheus.Registry, name, reason string, want float64) {
	t.Helper()
	if got := value(t, reg, name, "test", reason); got != want {
		t.Errorf("%s{reason=%q} = %v, want %v", name, reason, got, want)
	}
}

// logLines collects a log.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// count returns how many lines contain text.
func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (l *logLines) logger() zerolog.Logger { return zerolog.New(l) }

// waitForNoReaders returns when no goroutine runs a packetReader. One that has
// reported its end may need a moment to exit.
func waitForNoReaders(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for strings.Contains(string(buf[:runtime.Stack(buf, true)]), "(*packetReader).run(") {
		if t.Context().Err() != nil {
			t.Fatal("a reader is left")
		}
		runtime.Gosched()
	}
}

// fakeListener accepts the connections that a test puts in.
type fakeListener struct {
	conns  chan net.Conn
	errs   chan error
	closed chan struct{}
	once   sync.Once
}

func newFakeListener() *fakeListener {
	return &fakeListener{conns: make(chan net.Conn), errs: make(chan error), closed: make(chan struct{})}
}

func (l *fakeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case err := <-l.errs:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *fakeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *fakeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// connect offers a connection from the given address and returns its far end.
func (l *fakeListener) connect(from string) net.Conn {
	near, far := net.Pipe()
	l.conns <- &addressed{Conn: near, remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))}
	return far
}

// addressed is a pipe with addresses.
type addressed struct {
	net.Conn
	remote net.Addr
}

func (a *addressed) RemoteAddr() net.Addr { return a.remote }
func (a *addressed) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 28910}
}

// isClosed reports whether the far end sees a closed connection, not a silent
// one.
func isClosed(far net.Conn) bool {
	_ = far.SetReadDeadline(time.Now().Add(time.Nanosecond))
	_, err := far.Read(make([]byte, 1))
	var nerr net.Error
	return err != nil && (!errors.As(err, &nerr) || !nerr.Timeout())
}
