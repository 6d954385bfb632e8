package web

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, so that a test bubble can
// decide about their time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	mine, theirs := net.Pipe()
	p.conns <- theirs
	t.Cleanup(func() { _ = mine.Close() })
	return mine
}

// serving runs f in a bubble while test runs.
func serving(t *testing.T, test func(t *testing.T, f *fixture, ln *pipes, stop func() (took time.Duration))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t), newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- f.server.Serve(ctx, ln) }()
		stop := sync.OnceValue(func() time.Duration {
			began := time.Now()
			cancel()
			if err := <-result; err != nil {
				t.Errorf("Serve: got %v, want nil", err)
			}
			return time.Since(began)
		})
		test(t, f, ln, stop)
		stop()
		synctest.Wait()
	})
}

// endsAfter reads until the server closes c and checks when that is.
func endsAfter(t *testing.T, c net.Conn, want time.Duration) {
	t.Helper()
	began := time.Now()
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read: %v", err)
	}
	if got := time.Since(began); got != want {
		t.Errorf("the connection was closed after %v, want %v", got, want)
	}
}

func TestSilentClientIsCutOff(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *pipes, _ func() time.Duration) {
		endsAfter(t, ln.dial(t), headerTimeout)
	})
}

func TestClientThatDripsItsHeaderIsCutOff(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *pipes, _ func() time.Duration) {
		c := ln.dial(t)
		var dripping sync.WaitGroup
		defer dripping.Wait()
		dripping.Go(func() {
			for range 100 {
				if _, err := io.WriteString(c, "G"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		endsAfter(t, c, headerTimeout)
	})
}

func TestIdleConnectionIsClosed(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *pipes, _ func() time.Duration) {
		c := ln.dial(t)
		ask(t, c, getList)
		endsAfter(t, c, idleTimeout)
	})
}

// onItsWay returns the bytes that the service is sending.
func onItsWay(f *fixture) int {
	o := &f.server.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func TestSlowReaderIsCutOff(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		for range 20 {
			f.put(listed{rules: []string{"motd", strings.Repeat("x", 60_000)}})
		}
		c := ln.dial(t)
		if _, err := io.WriteString(c, getList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait() // the answer is stuck
		if onItsWay(f) == 0 {
			t.Error("an answer on its way is not counted")
		}
		time.Sleep(writeTimeout)
		synctest.Wait()
		if n := onItsWay(f); n != 0 {
			t.Errorf("after the time-out %d bytes are still on their way", n)
		}
		endsAfter(t, c, 0)
	})
}

func TestStopWaitsForAnswersButNotForLong(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, stop func() time.Duration) {
		f.put(listed{rules: []string{"motd", strings.Repeat("x", 60_000)}})
		stuck, idle, silent := ln.dial(t), ln.dial(t), ln.dial(t)
		ask(t, idle, getList)
		if _, err := io.WriteString(stuck, getList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait()
		if took := stop(); took != grace {
			t.Errorf("Serve ended after %v, want %v", took, grace)
		}
		synctest.Wait()
		for _, c := range []net.Conn{stuck, idle, silent} {
			endsAfter(t, c, 0)
		}
	})
}

func TestStopWithoutVisitorsIsQuick(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *pipes, stop func() time.Duration) {
		ask(t, ln.dial(t), getList)
		if took := stop(); took > 100*time.Millisecond {
			t.Errorf("Serve ended after %v although nobody was served", took)
		}
	})
}

func TestAnswerUnderWayIsFinishedWhileStopping(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, stop func() time.Duration) {
		f.put(listed{rules: []string{"motd", strings.Repeat("x", 60_000)}})
		c := ln.dial(t)
		if _, err := io.WriteString(c, getList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait()
		go func() {
			time.Sleep(grace / 2)
			body, err := io.ReadAll(c)
			if err != nil || !strings.HasSuffix(string(body), "}\n") {
				t.Errorf("the answer was cut: %d bytes, %v", len(body), err)
			}
		}()
		if took := stop(); took < grace/2 || took >= grace {
			t.Errorf("Serve ended after %v, want between %v and %v", took, grace/2, grace)
		}
	})
}
