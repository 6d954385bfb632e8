package netserve

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a connection with time limits: to its first byte, between reads, for
// a write, and possibly for its lifetime. When one is exceeded the call returns
// an error that matches os.ErrDeadlineExceeded, the reason is counted and the
// connection is closed. Conn implements net.Conn and may be used by several
// goroutines.
type Conn struct {
	raw         net.Conn
	peer, local netip.AddrPort
	seat        Seat
	waiting     atomic.Pointer[shelved] // nil: it did not have to wait
	metrics     *Metrics
	ciphered    bool // see ConnOptions

	firstByteBy time.Time
	endBy       time.Time // zero: no end
	maxIdle     time.Duration
	maxWrite    time.Duration

	heard    atomic.Bool // a byte was received
	expired  atomic.Bool // a limit was exceeded and counted
	reading  deadline
	writing  deadline
	oneWrite chan struct{}   // full during a Write: each Write has its own limit
	direct   syscall.RawConn // of raw; nil: TryWrite writes nothing
}

var _ net.Conn = (*Conn)(nil)

// newConn wraps raw; opt has its defaults filled in.
func newConn(raw net.Conn, now time.Time, opt *ConnOptions) *Conn {
	c := &Conn{
		raw:         raw,
		peer:        addrPortOf(raw.RemoteAddr()),
		local:       addrPortOf(raw.LocalAddr()),
		metrics:     opt.Metrics,
		ciphered:    opt.Ciphered,
		firstByteBy: now.Add(opt.FirstByte),
		maxIdle:     opt.Idle,
		maxWrite:    opt.Write,
		reading:     deadline{set: raw.SetReadDeadline},
		writing:     deadline{set: raw.SetWriteDeadline},
		oneWrite:    make(chan struct{}, 1),
	}
	if s, ok := raw.(syscall.Conn); ok {
		c.direct, _ = s.SyscallConn() // nil after an error
	}
	if opt.MaxLifetime > 0 {
		c.endBy = now.Add(opt.MaxLifetime)
	}
	return c
}

// postpone extends the limits that count from the start of the connection by d.
func (c *Conn) postpone(d time.Duration) {
	c.firstByteBy = c.firstByteBy.Add(d)
	if !c.endBy.IsZero() {
		c.endBy = c.endBy.Add(d)
	}
}

// evict implements evictee. A handler that already runs notices that the
// connection has ended.
func (c *Conn) evict() {
	if x := c.waiting.Load(); x == nil || !x.remove() {
		_ = c.raw.Close()
	}
}

// Peer returns the address of the other side, IPv4 addresses unmapped.
func (c *Conn) Peer() netip.AddrPort { return c.peer }

// Local returns the own address of the connection, IPv4 addresses unmapped.
func (c *Conn) Local() netip.AddrPort { return c.local }

// SetState sets the State of the connection. A handler calls it when it has
// read the first whole request, and at every change. Without a call the
// connection stays in StateNew and is the first to be closed when the service
// is full.
func (c *Conn) SetState(s State) { c.seat.SetState(s) }

// RemoteAddr implements net.Conn; see Peer.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// LocalAddr implements net.Conn; see Local.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// Read reads available data. It waits at most until the first-byte limit of the
// connection or, after the first byte, for its idle time.
func (c *Conn) Read(p []byte) (int, error) {
	now := time.Now()
	by, reason := c.firstByteBy, dropFirstByte
	if c.heard.Load() {
		by, reason = now.Add(c.maxIdle), dropIdle
	}
	by, reason = c.withinLife(by, reason)
	if err := c.reading.arm(by); err != nil {
		return 0, err
	}
	n, err := c.raw.Read(p)
	if n > 0 {
		c.heard.Store(true)
		c.metrics.read(n)
		c.passed(Heard, p[:n])
	}
	c.check(err, &c.reading, reason)
	return n, err
}

// Linger reads and discards further input of the peer, so that closing the
// connection does not destroy the last data sent to it. It ends after a pause
// of the peer, a number of bytes or a time, and returns nil then, else the
// error that ended it.
func (c *Conn) Linger(pause, most time.Duration, bytes int) error {
	var sink [1024]byte
	end := time.Now().Add(most)
	for read := 0; read < bytes; {
		now := time.Now()
		if !now.Before(end) {
			return nil
		}
		by := now.Add(pause)
		if by.After(end) {
			by = end
		}
		if err := c.SetReadDeadline(by); err != nil {
			return err
		}
		n, err := c.Read(sink[:])
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !c.Expired():
			return nil
		case err != nil:
			return err
		}
		read += n
	}
	return nil
}

// Write writes all of p. If it takes longer than ConnOptions.Write, the peer
// counts as a slow reader and the connection is closed. Concurrent Writes wait
// for each other.
func (c *Conn) Write(p []byte) (int, error) {
	c.oneWrite <- struct{}{}
	defer func() { <-c.oneWrite }()
	by, reason := c.withinLife(time.Now().Add(c.maxWrite), dropSlowReader)
	if err := c.writing.arm(by); err != nil {
		return 0, err
	}
	n, err := c.raw.Write(p)
	if n > 0 {
		c.metrics.wrote(n)
		c.passed(Said, p[:n])
	}
	c.check(err, &c.writing, reason)
	return n, err
}

// TryWrite writes as much as the system takes at once and returns the number of bytes, 0 if
// the connection or the system cannot do that: Write the rest. It does not wait for
// the peer, and is for callers that write to many connections in turn.
func (c *Conn) TryWrite(p []byte) (int, error) {
	if c.direct == nil {
		return 0, nil
	}
	c.oneWrite <- struct{}{}
	defer func() { <-c.oneWrite }()
	n, err := tryWrite(c.direct, p)
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.writing.isOwn() { // that of an earlier Write
		if err = c.writing.arm(time.Time{}); err == nil {
			n, err = tryWrite(c.direct, p)
		}
	}
	if n > 0 {
		c.metrics.wrote(n)
		c.passed(Said, p[:n])
	}
	return n, err
}

// withinLife returns the earlier of by and the end of the connection's life.
func (c *Conn) withinLife(by time.Time, reason string) (time.Time, string) {
	if !c.endBy.IsZero() && c.endBy.Before(by) {
		return c.endBy, dropLifetime
	}
	return by, reason
}

// check closes the connection if err reports that one of its limits was
// exceeded. A deadline set by the handler does not close it.
func (c *Conn) check(err error, d *deadline, reason string) {
	if !errors.Is(err, os.ErrDeadlineExceeded) || d.isOwn() {
		return
	}
	if c.expired.CompareAndSwap(false, true) {
		c.metrics.Drop(reason)
	}
	_ = c.Close()
}

// Expired reports whether a limit of the connection was exceeded, which has
// closed it. It distinguishes such an error from that of a deadline set by the
// handler.
func (c *Conn) Expired() bool { return c.expired.Load() }

// Close closes the connection; reads and writes under way end.
func (c *Conn) Close() error { return c.raw.Close() }

// CloseWrite closes the sending direction: the peer reads the rest of the data
// and then EOF, and can still send. The error is errors.ErrUnsupported for
// connections without half-close.
func (c *Conn) CloseWrite() error {
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// SetReadDeadline sets a time after which reads fail, also those under way, in
// addition to the limits of the connection: the earlier one counts. Exceeding
// it does not close the connection. A zero t removes it.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.reading.limit(t) }

// SetWriteDeadline is SetReadDeadline for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.writing.limit(t) }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline combines the limit of the connection and the deadline of its handler
// for one direction: the earlier one is in force.
type deadline struct {
	set func(time.Time) error

	mu    sync.Mutex
	bound time.Time // zero: no call was made yet
	own   time.Time // set by the handler; zero: none
}

// arm puts the bound of a new call in force.
func (d *deadline) arm(bound time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bound = bound
	return d.apply()
}

// limit puts the handler's deadline in force.
func (d *deadline) limit(own time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own = own
	return d.apply()
}

func (d *deadline) apply() error {
	t := d.bound
	if d.ownFirst() {
		t = d.own
	}
	return d.set(t)
}

// isOwn reports whether the deadline in force is the handler's.
func (d *deadline) isOwn() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ownFirst()
}

func (d *deadline) ownFirst() bool {
	return !d.own.IsZero() && (d.bound.IsZero() || d.own.Before(d.bound))
}
