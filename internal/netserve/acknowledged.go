package netserve

import (
	"errors"
	"syscall"
	"time"
)

// SetUserTimeout bounds how long bytes that were written may wait for the peer's
// TCP to acknowledge them, or to open its window for them. When d is over the
// system ends the connection: calls answer syscall.ETIMEDOUT. Without it, a peer
// behind a broken line is given up by Linux after 15 minutes. d is rounded up to
// the unit of the system, milliseconds or seconds. errors.ErrUnsupported: the
// system has no such bound, or the connection is not TCP.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	raw, err := c.syscallConn()
	if err != nil {
		return err
	}
	return controlFD(raw, func(fd uintptr) error { return setUserTimeout(fd, d) })
}

// Unacknowledged returns how many of the bytes that were written the peer's TCP
// has not acknowledged. It holds for a connection that the peer or the system
// ended, until Close. !ok: it is not known, because the system does not say, the
// connection was closed or is not TCP. It never blocks.
func (c *Conn) Unacknowledged() (n int, ok bool) {
	raw, err := c.syscallConn()
	if err != nil {
		return 0, false
	}
	err = controlFD(raw, func(fd uintptr) (err error) {
		n, err = unacknowledged(fd)
		return err
	})
	return n, err == nil
}

// syscallConn gives access to the socket.
func (c *Conn) syscallConn() (syscall.RawConn, error) {
	s, ok := c.raw.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

// roundUp returns d in whole units.
func roundUp(d, unit time.Duration) int { return int((d + unit - 1) / unit) }
