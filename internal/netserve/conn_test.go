package netserve

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// timeOuts are different limits, so that a test recognizes the one that was
// exceeded.
var timeOuts = ConnOptions{
	FirstByte: 3 * time.Second, Idle: 20 * time.Second, Write: 7 * time.Second, Grace: time.Second,
}

func TestBoundsOfAConnection(t *testing.T) {
	with := func(lifetime time.Duration) ConnOptions {
		opt := timeOuts
		opt.MaxLifetime = lifetime
		return opt
	}
	readAll := func(_ context.Context, c *Conn) error {
		_, err := io.Copy(io.Discard, c)
		return err
	}
	writeAll := func(_ context.Context, c *Conn) error {
		for {
			if _, err := c.Write(make([]byte, 100)); err != nil {
				return err
			}
		}
	}
	for name, tc := range map[string]struct {
		opt     ConnOptions
		handler func(context.Context, *Conn) error
		peer    func(far net.Conn)
		after   time.Duration
		reason  string
	}{
		"silent from the start": {timeOuts, readAll, func(net.Conn) {}, timeOuts.FirstByte, "first_byte_timeout"},
		"silent after a byte": {timeOuts, readAll, func(far net.Conn) {
			time.Sleep(time.Second)
			_, _ = far.Write([]byte("x"))
		}, time.Second + timeOuts.Idle, "idle_timeout"},
		"reads nothing": {timeOuts, writeAll, func(net.Conn) {}, timeOuts.Write, "slow_reader"},
		"reads too slowly": {timeOuts, writeAll, func(far net.Conn) {
			for range 99 { // a byte short of one write
				_, _ = far.Read(make([]byte, 1))
			}
		}, timeOuts.Write, "slow_reader"},
		"lifetime of a busy peer": {with(time.Minute), readAll, func(far net.Conn) {
			for range 59 {
				_, _ = far.Write([]byte("x"))
				time.Sleep(time.Second)
			}
		}, time.Minute, "lifetime"},
		"lifetime before first byte": {with(time.Second), readAll, func(net.Conn) {}, time.Second, "lifetime"},
		"lifetime in a write":        {with(time.Second), writeAll, func(net.Conn) {}, time.Second, "lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				type end struct {
					err error
					at  time.Time
				}
				ended := make(chan end, 1)
				s := serveConns(t, func(ctx context.Context, c *Conn) {
					err := tc.handler(ctx, c)
					if !c.Expired() {
						t.Error("Expired() = false after a bound was passed")
					}
					ended <- end{err, time.Now()}
					if _, err := c.Write([]byte("x")); err == nil {
						t.Error("the connection is still open for writing")
					}
				}, tc.opt)
				start := time.Now()
				far := s.connect("192.0.2.1:1")
				tc.peer(far)
				e := <-ended
				if !errors.Is(e.err, os.ErrDeadlineExceeded) {
					t.Errorf("error = %v, want os.ErrDeadlineExceeded", e.err)
				}
				if got := e.at.Sub(start); got != tc.after {
					t.Errorf("ended after %v, want %v", got, tc.after)
				}
				synctest.Wait()
				if !isClosed(far) {
					t.Error("the connection is open")
				}
				for _, reason := range []string{"first_byte_timeout", "idle_timeout", "slow_reader", "lifetime"} {
					want := 0.0
					if reason == tc.reason {
						want = 1
					}
					wantValue(t, s.reg, "respawnd_dropped_total", reason, want)
				}
				if err := s.stop(); err != nil {
					t.Errorf("ServeConns = %v, want nil", err)
				}
			})
		})
	}
}

func TestOwnDeadlineOfHandlerClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, func(_ context.Context, c *Conn) {
			start := time.Now()
			if err := c.SetDeadline(start.Add(time.Second)); err != nil {
				t.Errorf("SetDeadline: %v", err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("Read = %v after %v, want os.ErrDeadlineExceeded after a second", err, time.Since(start))
			}
			if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write = %v, want os.ErrDeadlineExceeded", err)
			}
			if c.Expired() {
				t.Error("Expired() = true after a deadline of the handler")
			}
			if err := c.SetDeadline(time.Time{}); err != nil {
				t.Errorf("SetDeadline: %v", err)
			}
			_, _ = c.Write([]byte("still here"))
		}, timeOuts)
		far := s.connect("192.0.2.1:1")
		time.Sleep(2 * time.Second)
		if got, err := io.ReadAll(far); string(got) != "still here" || err != nil {
			t.Errorf("the peer got %q, %v, want %q", got, err, "still here")
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		wantValue(t, s.reg, "respawnd_dropped_total", "first_byte_timeout", 0)
		wantValue(t, s.reg, "respawnd_dropped_total", "slow_reader", 0)
	})
}

func TestOwnDeadlineCannotPostponeABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := serveConns(t, func(_ context.Context, c *Conn) {
			if err := c.SetReadDeadline(start.Add(time.Hour)); err != nil {
				t.Errorf("SetReadDeadline: %v", err)
			}
			_, _ = c.Read(make([]byte, 1))
			if got := time.Since(start); got != timeOuts.FirstByte {
				t.Errorf("Read ended after %v, want %v", got, timeOuts.FirstByte)
			}
		}, timeOuts)
		s.connect("192.0.2.1:1")
		synctest.Wait()
		time.Sleep(timeOuts.FirstByte)
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
		wantValue(t, s.reg, "respawnd_dropped_total", "first_byte_timeout", 1)
	})
}

func TestEachOfSeveralWritesHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveConns(t, func(_ context.Context, c *Conn) {
			second := make(chan error)
			go func() {
				time.Sleep(time.Second)
				_, err := c.Write([]byte("2"))
				second <- err
			}()
			if _, err := c.Write([]byte("1")); err != nil {
				t.Errorf("first Write = %v, want nil", err)
			}
			if err := <-second; err != nil {
				t.Errorf("second Write = %v, want nil", err)
			}
		}, timeOuts)
		far := s.connect("192.0.2.1:1")
		for _, want := range []string{"1", "2"} { // each just in time
			time.Sleep(timeOuts.Write - time.Millisecond)
			buf := make([]byte, 1)
			if _, err := far.Read(buf); err != nil || string(buf) != want {
				t.Errorf("peer read %q, %v, want %q", buf, err, want)
			}
		}
		if err := s.stop(); err != nil {
			t.Errorf("ServeConns = %v, want nil", err)
		}
	})
}

func TestConnWithoutIPAddressesHasZeroOnes(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	opt := ConnOptions{}.withDefaults()
	c := newConn(near, time.Now(), &opt)
	if c.Peer().IsValid() || c.Local().IsValid() {
		t.Errorf("Peer, Local = %v, %v, want zero addresses", c.Peer(), c.Local())
	}
	if c.RemoteAddr() != near.RemoteAddr() || c.LocalAddr() != near.LocalAddr() {
		t.Errorf("RemoteAddr, LocalAddr = %v, %v, want those of the connection", c.RemoteAddr(), c.LocalAddr())
	}
}

func TestCloseWriteEndsOneDirection(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	far, err := new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	raw, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	opt := ConnOptions{}.withDefaults()
	c := newConn(raw, time.Now(), &opt)
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatalf("CloseWrite: %v", err)
	}
	if got, err := io.ReadAll(far); string(got) != "last words" || err != nil {
		t.Errorf("the peer read %q, %v, want all that was written and the end", got, err)
	}
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if n, err := c.Read(b[:]); n != 1 || err != nil {
		t.Errorf("Read after CloseWrite = %d, %v, want 1, nil", n, err)
	}
}

func TestCloseWriteOfAConnectionThatCannot(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	opt := ConnOptions{}.withDefaults()
	c := newConn(near, time.Now(), &opt)
	defer func() { _ = c.Close() }()
	if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("CloseWrite = %v, want %v", err, errors.ErrUnsupported)
	}
}

func TestLinger(t *testing.T) {
	const pause, most, limit = time.Second, 5 * time.Second, 100
	for name, tc := range map[string]struct {
		peer  func(far net.Conn)
		after time.Duration
		want  error
	}{
		"silent":     {func(net.Conn) {}, pause, nil},
		"closed":     {func(far net.Conn) { synctest.Wait(); _ = far.Close() }, 0, io.EOF}, // while it reads: a closed pipe takes no deadline
		"much":       {func(far net.Conn) { _, _ = far.Write(make([]byte, limit)) }, 0, nil},
		"almost":     {func(far net.Conn) { _, _ = far.Write(make([]byte, limit-1)) }, pause, nil},
		"for long":   {every(900 * time.Millisecond), most, nil},
		"too slowly": {every(1100 * time.Millisecond), pause, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				opt := ConnOptions{}.withDefaults()
				c := newConn(near, time.Now(), &opt)
				done := make(chan struct{})
				go func() { defer close(done); tc.peer(far) }()
				start := time.Now()
				if err := c.Linger(pause, most, limit); !errors.Is(err, tc.want) || time.Since(start) != tc.after {
					t.Errorf("Linger = %v after %v, want %v after %v", err, time.Since(start), tc.want, tc.after)
				}
				_, _ = c.Close(), far.Close()
				<-done
			})
		})
	}
}

// every returns a peer that writes a byte in each period.
func every(period time.Duration) func(net.Conn) {
	return func(far net.Conn) {
		for {
			time.Sleep(period)
			if _, err := far.Write([]byte("x")); err != nil {
				return
			}
		}
	}
}
