package netserve

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tcpPair returns a served connection and its peer, whose system buffers little
// unread data.
func tcpPair(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return controlFD(raw, func(fd uintptr) error { return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
	}}
	peer, err := d.DialContext(t.Context(), "tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	opt := ConnOptions{}.withDefaults()
	c := newConn(raw, time.Now(), &opt)
	t.Cleanup(func() { _, _, _ = c.Close(), peer.Close(), ln.Close() })
	return c, peer.(*net.TCPConn)
}

// poll waits until ok returns true.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: still not", what)
		}
	}
}

func TestUnacknowledged(t *testing.T) {
	const size = 100_000
	for name, end := range map[string]func(t *testing.T, peer *net.TCPConn) (left bool){
		"the peer reads": func(t *testing.T, peer *net.TCPConn) bool {
			if _, err := io.ReadFull(peer, make([]byte, size)); err != nil {
				t.Error(err)
			}
			return false
		},
		"the peer resets": func(t *testing.T, peer *net.TCPConn) bool {
			if err := peer.SetLinger(0); err != nil {
				t.Error(err)
			}
			_ = peer.Close()
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, peer := tcpPair(t)
			if n, ok := c.Unacknowledged(); n != 0 || !ok {
				t.Errorf("Unacknowledged() = %d, %v before anything was written", n, ok)
			}
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			if n, ok := c.Unacknowledged(); n < size/2 || !ok {
				t.Errorf("Unacknowledged() = %d, %v while the peer does not read, want most of %d", n, ok, size)
			}
			if end(t, peer) {
				_, _ = c.Read(make([]byte, 1)) // notices the end
				if n, ok := c.Unacknowledged(); n < size/2 || !ok {
					t.Errorf("Unacknowledged() = %d, %v after a reset, want most of %d", n, ok, size)
				}
			} else {
				poll(t, "all is acknowledged", func() bool { n, ok := c.Unacknowledged(); return n == 0 && ok })
			}
			_ = c.Close()
			if n, ok := c.Unacknowledged(); ok {
				t.Errorf("Unacknowledged() = %d after Close, want nothing known", n)
			}
		})
	}
}

func TestSetUserTimeout(t *testing.T) {
	c, _ := tcpPair(t)
	if err := c.SetUserTimeout(75*time.Second + time.Microsecond); err != nil {
		t.Fatal(err)
	}
	raw, err := c.syscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := controlFD(raw, func(fd uintptr) error {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if got != 75_001 {
			t.Errorf("the time-out is %d ms, want 75001", got)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	opt := ConnOptions{}.withDefaults()
	if c := newConn(a, time.Now(), &opt); c.SetUserTimeout(time.Second) == nil {
		t.Error("a pipe took a time-out")
	}
}
