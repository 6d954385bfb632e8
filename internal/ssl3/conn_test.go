package ssl3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wide are limits that no test reaches by accident.
var wide = Limits{Rate: 10000, AddrRate: 10000, Pending: 1000}

// outcomes counts how handshakes ended.
type outcomes struct {
	mu sync.Mutex
	n  map[Outcome]int
}

func (o *outcomes) ended(_ netip.Addr, what Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == nil {
		o.n = make(map[Outcome]int)
	}
	o.n[what]++
}

func (o *outcomes) of(what Outcome) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n[what]
}

// pipes is a net.Listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection from an address.
type from struct {
	net.Conn
	ip net.IP
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: f.ip, Port: 4000} }

// world is a Listener in memory. Tests run in a synctest bubble.
type world struct {
	t        *testing.T
	pipes    pipes
	listener *Listener
	seen     outcomes
}

func newWorld(t *testing.T, limits Limits) *world {
	w := &world{t: t, pipes: make(pipes, 1)}
	w.listener = NewListener(w.pipes, Options{Identity: testIdentity(t), Rand: rand.Reader, Limits: limits, Ended: w.seen.ended})
	return w
}

// dial returns both ends of a connection from an address of 192.0.2.0/24; server is nil
// if the listener refused it. client is raw.
func (w *world) dial(host byte) (client net.Conn, server *Conn) {
	near, far := net.Pipe()
	return near, w.listener.admit(from{far, net.IPv4(192, 0, 2, host)})
}

// answer reads the data of a server's connection until its end, and answers each with the
// same data.
func answer(c net.Conn) error {
	defer func() { _ = c.Close() }()
	_, err := io.Copy(c, c)
	return err
}

// client returns the client's side over raw.
func (w *world) client(raw net.Conn) *Conn {
	w.t.Helper()
	c, err := Client(raw, rand.Reader, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wide)
		raw, server := w.dial(1)
		ended := make(chan error, 1)
		go func() { ended <- answer(server) }()
		c := w.client(raw)
		want := make([]byte, 100_000)
		_, _ = rand.Read(want)
		go func() { _, _ = c.Write(want) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("echo: %v", err)
		}
		synctest.Wait() // until Write has returned: Close would cut it short, without close_notify
		go func() { _ = c.Close() }()
		if err := <-ended; err != nil {
			t.Errorf("the server's end: %v", err)
		}
		if w.seen.of(Completed) != 1 || w.listener.Pending() != 0 {
			t.Errorf("%d completed, %d pending", w.seen.of(Completed), w.listener.Pending())
		}
	})
}

func TestReadContinuesAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wide)
		raw, server := w.dial(1)
		c := w.client(raw)
		go func() { _ = c.Handshake() }()
		if err := server.Handshake(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wire := c.state.out.seal(nil, typeData, []byte("in two parts"))
		go func() { _, _ = raw.Write(wire[:9]) }()
		_ = server.SetReadDeadline(time.Now().Add(time.Second))
		var got [20]byte
		if _, err := server.Read(got[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("half a record: %v", err)
		}
		_ = server.SetReadDeadline(time.Time{})
		go func() { _, _ = raw.Write(wire[9:]) }()
		if n, err := server.Read(got[:]); err != nil || string(got[:n]) != "in two parts" {
			t.Errorf("the rest: %q, %v", got[:n], err)
		}
		_ = raw.Close()
		if _, err := server.Read(got[:]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("an end without close_notify: %v", err)
		}
	})
}

// alertIn returns the alert in the only record that is read from raw.
func alertIn(t *testing.T, raw net.Conn) Alert {
	t.Helper()
	reader := recordReader{r: raw}
	r, err := reader.next(maxData)
	if err != nil || r.typ != typeAlert || len(r.payload) != 2 || r.payload[0] != levelFatal {
		t.Fatalf("record %d %x, %v; want a fatal alert", r.typ, r.payload, err)
	}
	return Alert(r.payload[1])
}

func TestServerRefuses(t *testing.T) {
	rec := loadRecorded(t)
	hello := rec.clientRecords()[0]
	for name, tc := range map[string]struct {
		wire    []byte
		alert   Alert
		outcome Outcome
	}{
		"long record": {[]byte{22, 3, 0, 0xff, 0xff}, AlertIllegalParameter, Malformed},
		"HTTP":        {[]byte("GET / HTTP/1.1\r\n"), AlertUnexpectedMessage, Malformed},
		"silence":     {nil, AlertHandshakeFailure, TimedOut},
		"half hello":  {hello[:20], AlertHandshakeFailure, TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, wide)
				raw, server := w.dial(1)
				go func() { _ = answer(server) }()
				go func() { _, _ = raw.Write(tc.wire) }()
				start := time.Now()
				if got := alertIn(t, raw); got != tc.alert {
					t.Errorf("%v, want %v", got, tc.alert)
				}
				if waited := time.Since(start); (waited == Timeout) != (tc.outcome == TimedOut) {
					t.Errorf("ended after %v", waited)
				}
				_ = raw.Close()
				synctest.Wait()
				if w.seen.of(tc.outcome) != 1 || w.listener.Pending() != 0 {
					t.Errorf("outcomes %v, %d pending", w.seen.n, w.listener.Pending())
				}
			})
		})
	}
}

func TestPeerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, wide)
		raw, server := w.dial(1)
		go func() { _ = raw.Close() }()
		if err := server.Handshake(); err == nil {
			t.Error("a handshake without a client")
		}
		if err := server.Handshake(); err == nil {
			t.Error("a second handshake without a client")
		}
		_ = server.Close()
		if w.seen.of(Aborted) != 1 || w.listener.Pending() != 0 {
			t.Errorf("outcomes %v, %d pending", w.seen.n, w.listener.Pending())
		}
	})
}

// TestPendingHandshakes fills the listener with half-open connections of one address.
func TestPendingHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := wide
		limits.Pending = 4
		w := newWorld(t, limits)
		var half []net.Conn
		for range limits.Pending {
			raw, server := w.dial(1)
			go func() { _ = answer(server) }()
			go func() { _, _ = raw.Write([]byte{22}) }()
			half = append(half, raw)
		}
		synctest.Wait()
		far, server := w.dial(1)
		if server != nil {
			t.Fatal("one more of the same address is served")
		}
		_ = far.Close()
		alerts := make(chan byte, limits.Pending)
		for _, raw := range half {
			go func() {
				var head [7]byte
				_, _ = io.ReadFull(raw, head[:])
				alerts <- head[6]
			}()
		}
		raw, server := w.dial(2)
		if server == nil {
			t.Fatal("another address is refused")
		}
		go func() { _ = answer(server) }()
		if err := w.client(raw).Handshake(); err != nil {
			t.Fatal(err)
		}
		if got := Alert(<-alerts); got != AlertHandshakeFailure {
			t.Errorf("alert of the evicted one: %v", got)
		}
		synctest.Wait()
		if got := w.seen.of(TooMany); got != 2 {
			t.Errorf("%d refused and evicted, want 2: %v", got, w.seen.n)
		}
		if got := w.listener.Pending(); got != limits.Pending-1 {
			t.Errorf("%d pending, want %d", got, limits.Pending-1)
		}
		for _, raw := range half {
			_ = raw.Close()
		}
		_ = raw.Close()
	})
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{Rate: 2, AddrRate: 1, Pending: 100})
		shake := func(host byte) error {
			raw, server := w.dial(host)
			done := make(chan struct{})
			go func() { defer close(done); _ = answer(server) }()
			err := w.client(raw).Handshake()
			_ = raw.Close()
			<-done
			return err
		}
		for range burstSeconds {
			if err := shake(1); err != nil {
				t.Fatal(err)
			}
		}
		if err := shake(1); err == nil || w.seen.of(TooFastAddr) != 1 {
			t.Errorf("over the rate of the address: %v, %v", err, w.seen.n)
		}
		for host := range byte(burstSeconds) {
			if err := shake(2 + host); err != nil {
				t.Fatal(err)
			}
		}
		if err := shake(99); err == nil || w.seen.of(TooFast) != 1 {
			t.Errorf("over the rate of all: %v, %v", err, w.seen.n)
		}
		w.listener.SetLimits(wide)
		if err := shake(99); err != nil {
			t.Errorf("with higher limits: %v", err)
		}
	})
}

// TestHTTP serves HTTP over a real socket. The client sends the header, the empty line
// and the body in records of their own, as games do.
func TestHTTP(t *testing.T) {
	var lc net.ListenConfig
	inner, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen outcomes
	ln := NewListener(inner, Options{Identity: testIdentity(t), Rand: rand.Reader, Limits: wide, Ended: seen.ended})
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	defer serving.Wait()
	defer func() { _ = srv.Shutdown(context.WithoutCancel(t.Context())) }()

	var d net.Dialer
	raw, err := d.DialContext(t.Context(), "tcp4", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Client(raw, rand.Reader, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, part := range []string{"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n", "\r\n", "body"} {
		if _, err := c.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := io.ReadAll(c) // until close_notify
	if err != nil || !bytes.HasPrefix(all, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.HasSuffix(all, []byte("\r\n\r\nbody")) {
		t.Errorf("answer %q, %v", all, err)
	}
}
