package netserve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
)

// turns records when connections are served.
type turns struct {
	begin time.Time

	mu    sync.Mutex // guards the fields below
	ports []uint16
	after []time.Duration
}

func (x *turns) hold(_ context.Context, c *Conn) {
	x.mu.Lock()
	x.ports = append(x.ports, c.Peer().Port())
	x.after = append(x.after, time.Since(x.begin))
	x.mu.Unlock()
	_, _ = io.Copy(io.Discard, c)
}

func TestConnectionsOverTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &turns{begin: time.Now()}
		s := serveConns(t, x.hold, ConnOptions{Rate: 1, Burst: 2, FirstByte: 5 * time.Second})
		for port := range 5 {
			s.connect(fmt.Sprintf("192.0.2.1:%d", 1+port))
		}
		s.connect("192.0.2.2:9") // waits for no other
		synctest.Wait()
		wantValue(t, s.reg, "respawnd_connections_delayed_total", "", 3)
		wantValue(t, s.reg, "respawnd_connections", "", 3)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if want := []uint16{3, 4, 5}; !slices.Equal(x.ports[3:], want) {
			t.Errorf("after the first three, %v were served, want %v", x.ports[3:], want)
		}
		if want := []time.Duration{0, 0, 0, time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(x.after, want) {
			t.Errorf("connections were served after %v, want %v", x.after, want)
		}
		wantValue(t, s.reg, "respawnd_connections", "", 6)
		wantValue(t, s.reg, "respawnd_connections_refused_total", "rate", 0)
		time.Sleep(3500 * time.Millisecond) // the time for the first byte begins with the turn
		synctest.Wait()
		wantValue(t, s.reg, "respawnd_connections", "", 2)
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

// Waiting connections count towards the limits.
func TestWaitingConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{Rate: 1, Burst: 1, MaxPerAddr: 3})
		for port := range 3 {
			if far := s.connect(fmt.Sprintf("192.0.2.1:%d", 1+port)); isClosed(far) {
				t.Fatalf("connection %d is closed", port)
			}
		}
		if far := s.connect("192.0.2.1:4"); !isClosed(far) {
			t.Error("one more than may be of an address is open")
		}
		wantValue(t, s.reg, "respawnd_connections_refused_total", "per_address", 1)
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

func TestShutdownDropsWaitingConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &turns{begin: time.Now()}
		s := serveConns(t, x.hold, ConnOptions{Rate: 1, Burst: 1, Grace: -1})
		s.connect("192.0.2.1:1")
		far := s.connect("192.0.2.1:2")
		synctest.Wait()
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		if !isClosed(far) {
			t.Error("a waiting connection is open after the end")
		}
		time.Sleep(time.Minute)
		if len(x.ports) != 1 || time.Since(x.begin) != time.Minute {
			t.Errorf("%d were served and stopping took %v, want 1 and no time", len(x.ports), time.Since(x.begin)-time.Minute)
		}
	})
}

func TestWaitingClientsAreSentTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{MaxConns: 3, Rate: 1, Burst: 1, FirstByte: time.Hour, Refused: words})
		said := func(port int) <-chan string {
			far, text := s.connect(fmt.Sprintf("192.0.2.1:%d", port)), make(chan string, 1)
			go func() {
				b, _ := io.ReadAll(far)
				text <- string(b)
			}()
			return text
		}
		served, evicted, waiting := said(1), said(2), said(3)
		synctest.Wait()
		for port := range 2 { // the one that is served is evicted first
			s.connect(fmt.Sprintf("198.51.100.%d:1", 1+port))
			synctest.Wait()
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		for _, tc := range []struct {
			text <-chan string
			want string
		}{{served, ""}, {evicted, "192.0.2.1: full"}, {waiting, "192.0.2.1: stopping"}} {
			if got := <-tc.text; got != tc.want {
				t.Errorf("a client read %q, want %q", got, tc.want)
			}
		}
		wantValue(t, s.reg, "respawnd_connections_refused_total", "stopping", 1)
		if got := metrictest.Value(t, s.reg, "respawnd_connections_evicted_total", StateNew.String()); got != 2 {
			t.Errorf("%v new connections gave way, want 2", got)
		}
	})
}

// An evicted connection is closed, whether it is served or waits.
func TestConnectionsGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, func(_ context.Context, c *Conn) {
			var b [1]byte
			for {
				if _, err := c.Read(b[:]); err != nil {
					return
				}
				c.SetState(State(b[0]))
			}
		}, ConnOptions{MaxConns: 3, Rate: 1, Burst: 2, FirstByte: time.Hour, Idle: time.Hour})
		busy, fresh, waiting := s.connect("192.0.2.1:1"), s.connect("192.0.2.1:2"), s.connect("192.0.2.1:3")
		_, _ = busy.Write([]byte{byte(StateBusy)})
		synctest.Wait()
		for _, step := range []struct {
			from  string
			gone  net.Conn
			state string
		}{
			{"198.51.100.1:1", fresh, "new"},
			{"203.0.113.1:1", waiting, "new"},
		} {
			far := s.connect(step.from)
			synctest.Wait()
			if isClosed(far) || !isClosed(step.gone) {
				t.Errorf("%s: it is closed: %v; the one that should have given way: %v", step.from, isClosed(far), isClosed(step.gone))
			}
		}
		if isClosed(busy) {
			t.Error("the busy one gave way first")
		}
		if got := metrictest.Value(t, s.reg, "respawnd_connections_evicted_total", StateNew.String()); got != 2 {
			t.Errorf("%v new connections gave way, want 2", got)
		}
		wantValue(t, s.reg, "respawnd_connections", "", 3)
		if far := s.connect("198.51.100.2:1"); !isClosed(far) {
			t.Error("one more of as many addresses is served")
		}
		wantValue(t, s.reg, "respawnd_connections_refused_total", "full", 1)
		if got := s.log.count("all connections of the service are in use"); got != 1 {
			t.Errorf("%d log lines for three newcomers, want 1", got)
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

func TestFullServiceIsLoggedOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{MaxConns: 1})
		for range 3 {
			for port := range 10 {
				s.connect(fmt.Sprintf("192.0.2.1:%d", 1+port))
			}
			synctest.Wait()
			time.Sleep(throttle)
		}
		if got := s.log.count(`"addresses":1,"most_of_one":1,`); got != 3 {
			t.Errorf("%d lines in three minutes, want 3", got)
		}
		for _, refused := range []int{1, 9, 10} { // since the line before
			if got := s.log.count(fmt.Sprintf(`"refused":%d,"closed":0,`, refused)); got != 1 {
				t.Errorf("%d lines count %d refused, want 1", got, refused)
			}
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

// words returns the message to a refused connection.
func words(peer netip.AddrPort, why Refusal) []byte {
	return fmt.Appendf(nil, "%s: %s", peer.Addr(), why)
}

func TestRefusedClientsAreSentTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, holdUntilStop, ConnOptions{MaxPerAddr: 1, Refused: words})
		s.connect("192.0.2.1:1")
		begin := time.Now()
		for _, reads := range []bool{true, false, true} {
			far := s.connect("192.0.2.1:2")
			if !reads {
				continue
			}
			if got, err := io.ReadAll(far); string(got) != "192.0.2.1: per_address" || err != nil {
				t.Errorf("a refused client read %q, %v", got, err)
			}
		}
		if waited := time.Since(begin); waited > refuseWrite {
			t.Errorf("a client that does not read held the others up for %v", waited)
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

// The reason reaches a client that has already sent data: closing a connection with
// unread data would reset it.
func TestReasonForRefusedClients(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- ServeConns(ctx, ln, connFunc(holdUntilStop), ConnOptions{MaxConns: 1, Refused: words})
	}()
	dial := func(say string) net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, say)
		return c
	}
	dial("")
	for range 3 * maxLinger { // more than stay open
		got, err := io.ReadAll(dial(strings.Repeat("x", 1000)))
		if err == nil && string(got) != "127.0.0.1: full" {
			t.Fatalf("a refused client read %q", got)
		}
	}
	if got, err := io.ReadAll(dial("x")); len(got) == 0 && err == nil {
		t.Error("a refused client read nothing")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ServeConns = %v, want nil", err)
	}
}

func TestReserve(t *testing.T) {
	now := time.Now()
	l := NewLimiter(LimiterOptions{Rate: 2, Burst: 3})
	l.start = now
	a := netip.MustParseAddr("192.0.2.1")
	for i, want := range []time.Duration{0, 0, 0, 500 * time.Millisecond, time.Second} {
		if got, ok := l.Reserve(a, now, time.Second); !ok || got != want {
			t.Errorf("event %d waits %v, %v, want %v", i+1, got, ok, want)
		}
	}
	if got, ok := l.Reserve(a, now, time.Second); ok {
		t.Errorf("an event that would wait longer than a second is reserved for %v", got)
	}
	if l.Allow(a, now.Add(time.Second)) {
		t.Error("an event is allowed before those that wait")
	}
	if got, ok := l.Reserve(a, now.Add(time.Second), time.Second); !ok || got != 500*time.Millisecond {
		t.Errorf("behind two that were reserved: %v, %v, want 500ms", got, ok)
	}
	if got, ok := (*Limiter)(nil).Reserve(a, now, 0); !ok || got != 0 {
		t.Errorf("without a limiter: %v, %v, want no wait", got, ok)
	}
}
