package nettest

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// Recite returns a connection in memory whose other end sends parts, one write each,
// and nothing more. It accepts whatever it is sent, which heard returns after closing
// the connection.
func Recite(t testing.TB, parts ...string) (conn net.Conn, heard func() string) {
	t.Helper()
	in, sender := net.Pipe()
	out, receiver := net.Pipe()
	sent, read := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(sent)
		defer func() { _ = sender.Close() }()
		for _, p := range parts {
			if _, err := io.WriteString(sender, p); err != nil {
				return // the connection has been closed
			}
		}
	}()
	go func() {
		b, _ := io.ReadAll(receiver) // until the connection is closed
		read <- string(b)
	}()
	c := &recital{in, out}
	heard = func() string {
		_ = c.Close()
		<-sent
		b := <-read
		read <- b
		return b
	}
	t.Cleanup(func() { heard() })
	return c, heard
}

// Silent returns a connection in memory whose other end accepts whatever it is sent
// and sends nothing until the test ends.
func Silent(t testing.TB) net.Conn {
	t.Helper()
	in, sender := net.Pipe()
	out, receiver := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, receiver) }()
	t.Cleanup(func() { _ = errors.Join(sender.Close(), in.Close(), out.Close()) })
	return &recital{in, out}
}

// recital reads from one pipe and writes to another.
type recital struct {
	net.Conn // to read from
	out      net.Conn
}

func (r *recital) Write(p []byte) (int, error) { return r.out.Write(p) }

// SetReadDeadline works after the end of the recited data, as that of a socket does:
// the next read reports the end.
func (r *recital) SetReadDeadline(at time.Time) error {
	if err := r.Conn.SetReadDeadline(at); !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	return nil
}

func (r *recital) SetWriteDeadline(at time.Time) error { return r.out.SetWriteDeadline(at) }
func (r *recital) SetDeadline(at time.Time) error {
	return errors.Join(r.SetReadDeadline(at), r.SetWriteDeadline(at))
}
func (r *recital) Close() error { return errors.Join(r.Conn.Close(), r.out.Close()) }

// Answer returns the address of a UDP socket that sends the result of answer for each
// packet that it receives, until the test ends.
func Answer(t testing.TB, answer func(packet []byte) [][]byte) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			for _, b := range answer(buf[:n]) {
				_, _ = conn.WriteToUDPAddrPort(b, from) // it may be gone
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}
