package netserve

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// TryWrite writes as many bytes as fit, never waits, and is not stopped by the deadline
// of an earlier Write.
func TestTryWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets of this system wait")
	}
	near, peer := joinedByTCP(t)
	opt := ConnOptions{}.withDefaults()
	c := newConn(near, time.Now(), &opt)
	if _, err := c.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.writing.arm(time.Now().Add(-time.Second)); err != nil { // it has passed
		t.Fatal(err)
	}
	if n, err := c.TryWrite([]byte("b")); n != 1 || err != nil {
		t.Fatalf("TryWrite() after a deadline = %d, %v, want 1", n, err)
	}
	sent := 2
	chunk := make([]byte, 1<<20)
	for {
		n, err := c.TryWrite(chunk)
		if err != nil {
			t.Fatalf("TryWrite() = %v", err)
		}
		if sent += n; n < len(chunk) {
			break
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.Copy(io.Discard, peer); got != int64(sent) || err != nil {
		t.Errorf("the peer read %d bytes, %v, want %d", got, err, sent)
	}
	if _, err := c.TryWrite(chunk); err == nil {
		t.Error("TryWrite() on a closed connection has no error")
	}
}

// joinedByTCP returns the two ends of a connection.
func joinedByTCP(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if far, err = new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if near, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}
