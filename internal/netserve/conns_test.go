package netserve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serving is a ServeConns on a fake listener, inside a synctest bubble.
type serving struct {
	*fakeListener
	reg  *prometheus.Registry
	log  *logLines
	stop func() error // ends the context and waits
}

func serveConns(t *testing.T, h connFunc, opt ConnOptions) *serving {
	t.Helper()
	s := &serving{fakeListener: newFakeListener(), reg: prometheus.NewRegistry(), log: &logLines{}}
	opt.Metrics, opt.Log = NewMetrics(s.reg, "test"), s.log.logger()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeConns(ctx, s, h, opt) }()
	s.stop = func() error {
		cancel()
		return <-ended
	}
	return s
}

// holdUntilClosed serves a connection until it ends.
func holdUntilClosed(_ context.Context, c *Conn) { _, _ = io.Copy(io.Discard, c) }

// holdUntilStop serves a connection until the service stops.
func holdUntilStop(ctx context.Context, _ *Conn) { <-ctx.Done() }

func TestConnectionsAreServedOverTCP(t *testing.T) {
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	type ends struct{ peer, local netip.AddrPort }
	got := make(chan ends, 1)
	reg := prometheus.NewRegistry()
	go func() {
		ended <- ServeConns(ctx, ln, connFunc(func(_ context.Context, c *Conn) {
			got <- ends{c.Peer(), c.Local()}
			_, _ = io.Copy(c, c)
		}), ConnOptions{Metrics: NewMetrics(reg, "test")})
	}()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp4", ln.Addr().String())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer func() { _ = c.Close() }()
	if got := exchange(t, c, []byte("echo")); got != "echo" {
		t.Errorf("answer = %q, want %q", got, "echo")
	}
	want := ends{netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())}
	if got := <-got; got != want {
		t.Errorf("Peer, Local = %v, want %v", got, want)
	}
	wantValue(t, reg, "respawnd_connections", "", 1)
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ServeConns = %v, want nil", err)
	}
	wantValue(t, reg, "respawnd_connections", "", 0)
	wantValue(t, reg, "respawnd_connections_total", "", 1)
	wantValue(t, reg, "respawnd_bytes_received_total", "", 4)
	wantValue(t, reg, "respawnd_bytes_sent_total", "", 4)
	if c, err := d.DialContext(t.Context(), "tcp4", ln.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener still accepts after ServeConns has returned")
	}
}

func TestConnectionCapsHoldAtTheirEdges(t *testing.T) {
	for name, tc := range map[string]struct {
		opt    ConnOptions
		from   []string // all but the last are admitted
		reason string   // why the last one is refused; "": it is not
	}{
		"total, last place":  {ConnOptions{MaxConns: 2}, []string{"192.0.2.1:1", "192.0.2.2:1"}, ""},
		"total":              {ConnOptions{MaxConns: 2}, []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"}, "full"},
		"address, last one":  {ConnOptions{MaxPerAddr: 2}, []string{"192.0.2.1:1", "192.0.2.1:2"}, ""},
		"address":            {ConnOptions{MaxPerAddr: 2}, []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"}, "per_address"},
		"other address":      {ConnOptions{MaxPerAddr: 1}, []string{"192.0.2.1:1", "192.0.2.2:1"}, ""},
		"same /64":           {ConnOptions{MaxPerAddr: 1}, []string{"[2001:db8::1]:1", "[2001:db8::2]:1"}, "per_address"},
		"other /64":          {ConnOptions{MaxPerAddr: 1}, []string{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1"}, ""},
		"mapped address":     {ConnOptions{MaxPerAddr: 1}, []string{"192.0.2.1:1", "[::ffff:192.0.2.1]:1"}, "per_address"},
		"no cap by address":  {ConnOptions{MaxPerAddr: -1, MaxConns: 2}, []string{"192.0.2.1:1", "192.0.2.1:1", "192.0.2.1:1"}, "full"},
		"rate":               {ConnOptions{Rate: 0.09, Burst: 2}, []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"}, "rate"},
		"rate, last to wait": {ConnOptions{Rate: 0.1, Burst: 2}, []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"}, ""},
		"rate of another":    {ConnOptions{Rate: 1, Burst: 1}, []string{"192.0.2.1:1", "192.0.2.2:1"}, ""},
		"no rate":            {ConnOptions{Rate: -1, Burst: 1}, []string{"192.0.2.1:1", "192.0.2.1:2"}, ""},
		"exempt": {
			ConnOptions{MaxPerAddr: 1, Rate: 1, Burst: 1, Exempt: func(a netip.Addr) bool { return a.IsPrivate() }},
			[]string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"},
			"",
		},
		"exempt but full": {
			ConnOptions{MaxConns: 1, Exempt: func(netip.Addr) bool { return true }},
			[]string{"10.0.0.1:1", "10.0.0.1:2"},
			"full",
		},
		"not exempt": {
			ConnOptions{MaxPerAddr: 1, Exempt: func(a netip.Addr) bool { return a.IsPrivate() }},
			[]string{"192.0.2.1:1", "192.0.2.1:2"},
			"per_address",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveConns(t, holdUntilStop, tc.opt)
				for i, from := range tc.from {
					far := s.connect(from)
					synctest.Wait()
					last := i == len(tc.from)-1
					if got, want := isClosed(far), last && tc.reason != ""; got != want {
						t.Errorf("connection %d from %s is closed: %v, want %v", i+1, from, got, want)
					}
				}
				for _, reason := range []string{"full", "per_address", "rate"} {
					want := 0.0
					if reason == tc.reason {
						want = 1
					}
					wantValue(t, s.reg, "respawnd_connections_refused_total", reason, want)
				}
				if err := s.stop(); err != nil {
					t.Errorf("ServeConns = %v, want nil", err)
				}
			})
		})
	}
}

func TestEndedConnectionGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilClosed, ConnOptions{MaxConns: 1, MaxPerAddr: 1})
		for range 3 {
			far := s.connect("192.0.2.1:1")
			synctest.Wait()
			if isClosed(far) {
				t.Fatal("a connection is refused although the place is free")
			}
			_ = far.Close()
			synctest.Wait()
		}
		wantValue(t, s.reg, "respawnd_connections", "", 0)
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

func TestPanicInHandlerCostsOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, func(_ context.Context, c *Conn) {
			if c.Peer().Port() == 1 {
				panic("by hand")
			}
			_, _ = c.Write([]byte("fine"))
		}, ConnOptions{})
		bad := s.connect("192.0.2.1:1")
		synctest.Wait()
		if !isClosed(bad) {
			t.Error("the connection whose handler panicked is open")
		}
		good := s.connect("192.0.2.1:2")
		if got, err := io.ReadAll(good); string(got) != "fine" || err != nil {
			t.Errorf("the next connection got %q, %v, want %q", got, err, "fine")
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		wantValue(t, s.reg, "respawnd_panics_total", "", 1)
		wantValue(t, s.reg, "respawnd_connections", "", 0)
		if got := s.log.count("handler panicked"); got != 1 {
			t.Errorf("%d log lines, want 1", got)
		}
	})
}

func TestShutdownOfConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		handler connFunc
		grace   time.Duration
		takes   time.Duration
		last    string
	}{
		"handler sees the end of the context": {func(ctx context.Context, c *Conn) {
			<-ctx.Done()
			_, _ = c.Write([]byte("bye"))
		}, time.Minute, 0, "bye"},
		"handler is woken from Read": {func(ctx context.Context, c *Conn) {
			stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) })
			defer stop()
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte("bye"))
		}, time.Minute, 0, "bye"},
		"handler that only reads is cut off": {holdUntilClosed, 3 * time.Second, 3 * time.Second, ""},
		"default grace":                      {holdUntilClosed, 0, DefaultGrace, ""},
		"no grace":                           {holdUntilClosed, -1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveConns(t, tc.handler, ConnOptions{Grace: tc.grace, FirstByte: time.Hour})
				far := s.connect("192.0.2.1:1")
				synctest.Wait()
				got := make(chan string, 1)
				go func() {
					b, _ := io.ReadAll(far)
					got <- string(b)
				}()
				start := time.Now()
				if err := s.stop(); err != nil {
					t.Errorf("ServeConns = %v, want nil", err)
				}
				if d := time.Since(start); d != tc.takes {
					t.Errorf("shutdown took %v, want %v", d, tc.takes)
				}
				if got := <-got; got != tc.last {
					t.Errorf("the peer got %q, want %q", got, tc.last)
				}
				wantValue(t, s.reg, "respawnd_connections", "", 0)
			})
		})
	}
}

func TestServeConnsWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const extra = time.Minute
		s := serveConns(t, func(ctx context.Context, _ *Conn) {
			<-ctx.Done()
			time.Sleep(DefaultGrace + extra)
		}, ConnOptions{})
		s.connect("192.0.2.1:1")
		synctest.Wait()
		start := time.Now()
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		if d := time.Since(start); d != DefaultGrace+extra {
			t.Errorf("shutdown took %v, want %v", d, DefaultGrace+extra)
		}
	})
}

func TestAcceptErrorsAreWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{})
		emfile := &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		start := time.Now()
		const tries = 200
		for range tries {
			s.errs <- emfile
		}
		synctest.Wait()
		// 5, 10, ... 640 ms, then a second each; the last pause is not over yet.
		if got, want := time.Since(start), 1275*time.Millisecond+(tries-1-8)*time.Second; got != want {
			t.Errorf("%d errors took %v, want %v", tries, got, want)
		}
		wantValue(t, s.reg, "respawnd_dropped_total", "accept_error", tries)
		if got := s.log.count("accepting connections has trouble"); got != 4 {
			t.Errorf("%d log lines in three minutes, want 4", got)
		}
		far := s.connect("192.0.2.1:1")
		synctest.Wait()
		if isClosed(far) {
			t.Error("a connection after the errors is refused")
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

func TestServeConnsStopsDuringAcceptPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{})
		s.errs <- syscall.EMFILE
		start := time.Now()
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("shutdown took %v, want 0", d)
		}
	})
}

func TestBrokenListenerEndsServeConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s := serveConns(t, holdUntilStop, ConnOptions{})
		far := s.connect("192.0.2.1:1")
		synctest.Wait()
		s.errs <- broken
		synctest.Wait()
		if !isClosed(far) {
			t.Error("a connection is left open")
		}
		if err := s.stop(); !errors.Is(err, broken) {
			t.Errorf("ServeConns = %v, want %v", err, broken)
		}
	})
}
