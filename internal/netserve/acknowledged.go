package netserve

import (
	"errors"
	"syscall"
	"time"
)

// SetUserTimeout bounds how long bytes that were written may wait for the
// peer's TCP to acknowledge them, or to open its window for them. After d the
// system ends the connection: calls return syscall.ETIMEDOUT. Without it, Linux
// gives up a peer behind a broken line after 15 minutes. d is rounded up to the
// unit of the system, milliseconds or seconds. The error is
// errors.ErrUnsupported if the system has no such bound, or the connection is
// not TCP.
func (c *Conn) SetUserTimeout(d time.Duration) error {
	raw, err := c.syscallConn()
	if err != nil {
		return err
	}
	return controlFD(raw, func(fd uintptr) error { return setUserTimeout(fd, d) })
}

// Unacknowledged returns the number of written bytes that the peer's TCP has
// not acknowledged. It works until Close, also after the peer or the system has
// ended the connection. ok is false if the number is unknown: the system does
// not report it, or the connection was closed or is not TCP. It never blocks.
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
