package ssl3

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// closeWrite bounds the sending of the last alert. It fits into the empty buffer of a
// connection, so that Close does not wait for the peer.
const closeWrite = 10 * time.Millisecond

// Bounds of the input that is discarded after an alert.
const (
	linger    = 500 * time.Millisecond
	maxLinger = 64 << 10
)

// maxWrite is the most that one Write of the socket gets: a few records.
const maxWrite = 4 * maxData

// ErrHandshakeTimeout means that the peer did not complete the handshake in time.
var ErrHandshakeTimeout = errors.New("the handshake took too long")

// Conn is a connection. It implements net.Conn. The first Read or Write makes the
// handshake, for at most the timeout of the connection.
type Conn struct {
	raw     net.Conn
	timeout time.Duration
	// ended, if not nil, is called once, with the result of the handshake or, if it
	// never took place, with net.ErrClosed.
	ended func(error)

	handshaking sync.Mutex // held during the handshake; guards the fields below
	complete    bool       // the handshake has ended
	failure     error      // of the handshake
	once        sync.Once  // calls ended

	reading sync.Mutex // guards the fields below and the receiving half of state
	records recordReader
	unread  []byte // data of the present record
	readErr error  // final

	writing sync.Mutex // guards the fields below and the rest of state
	state   *state
	sealed  []byte
	closing bool // an alert that ends the connection was sent

	deadlines deadlines
	evicted   atomic.Bool // for another one, by the Listener
}

var _ net.Conn = (*Conn)(nil)

func newConn(raw net.Conn, s *state, timeout time.Duration) *Conn {
	return &Conn{raw: raw, timeout: timeout, state: s, records: recordReader{r: raw, old: s.old}, deadlines: deadlines{raw: raw}}
}

// Client returns the client's side of a connection over raw. It is for tests and the
// self-test, and checks no certificate.
func Client(raw net.Conn, rand io.Reader, timeout time.Duration) (*Conn, error) {
	c, err := newClient(rand)
	if err != nil {
		return nil, err
	}
	return newConn(raw, &c.state, timeout), nil
}

// Server returns the server's side of a connection over raw, for those who bound handshakes
// themselves; others use a Listener.
func Server(raw net.Conn, identity *Identity, rand io.Reader, timeout time.Duration) *Conn {
	return newConn(raw, &newServer(identity, rand, nil).state, timeout)
}

// Handshake makes the handshake unless it has ended already, and returns its error.
func (c *Conn) Handshake() error {
	c.handshaking.Lock()
	defer c.handshaking.Unlock()
	if c.complete {
		return c.failure
	}
	c.deadlines.limit(time.Now().Add(c.timeout))
	err := c.handshake()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrHandshakeTimeout
	}
	c.deadlines.limit(time.Time{})
	c.complete, c.failure = true, err
	c.report(err)
	if err != nil {
		c.abort(err)
	}
	return err
}

// handshake exchanges records until the handshake is complete.
func (c *Conn) handshake() error {
	for {
		open, err := c.flush()
		if open || err != nil {
			return err
		}
		if err := c.step(); err != nil {
			return err
		}
	}
}

// flush sends the flight of the state, and reports whether the handshake is complete.
func (c *Conn) flush() (open bool, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(c.state.flight) > 0 {
		_, err = c.raw.Write(c.state.flight)
		c.state.flight = nil
	}
	return c.state.open, err
}

// step reads one record of the handshake.
func (c *Conn) step() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	r, err := c.records.next(c.state.in.limit())
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.state.handle(r)
	if errors.Is(err, io.EOF) { // a regular end in the middle of the handshake
		err = io.ErrUnexpectedEOF
	}
	return err
}

// report calls ended, once.
func (c *Conn) report(err error) {
	c.once.Do(func() {
		if c.ended != nil {
			c.ended(err)
		}
	})
}

// Read implements net.Conn. It returns io.EOF only if the peer has announced the end of
// its data.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.unread) == 0 && len(p) > 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// receive reads one record. Only an error of the time limit is not final.
func (c *Conn) receive() error {
	if c.readErr != nil {
		return c.readErr
	}
	r, err := c.records.next(c.state.in.limit())
	switch {
	case err == nil:
		c.unread, err = c.state.handle(r)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.readErr = err
		c.abort(err)
	}
	return err
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (n int, err error) {
	if err := c.Handshake(); err != nil {
		return 0, err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	for len(p) > 0 {
		if c.closing {
			return n, net.ErrClosed
		}
		part := p[:min(len(p), maxWrite)]
		c.sealed = c.state.out.seal(c.sealed[:0], typeData, part)
		if _, err := c.raw.Write(c.sealed); err != nil {
			c.closing = true // a part of a record may have been sent
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, nil
}

// abort sends the alert for an error, if it has one, and discards further input of the peer for a
// moment: closing the connection at once could discard the alert.
func (c *Conn) abort(err error) {
	a, ok := alertOf(err)
	if !ok {
		return
	}
	c.writing.Lock()
	c.sendAlert(levelFatal, a)
	c.writing.Unlock()
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.raw.SetReadDeadline(time.Now().Add(linger)) == nil {
		_, _ = io.CopyN(io.Discard, c.raw, maxLinger)
	}
}

// sendAlert sends an alert that ends the connection, if none was sent. The caller
// holds writing.
func (c *Conn) sendAlert(level byte, a Alert) {
	if c.closing {
		return
	}
	c.closing = true
	if c.raw.SetWriteDeadline(time.Now().Add(closeWrite)) == nil {
		_, _ = c.raw.Write(c.state.out.seal(nil, typeAlert, []byte{level, byte(a)}))
	}
}

// Close announces the end of the data, or a failure before the end of the handshake, and
// closes the connection. It does not wait for the peer.
func (c *Conn) Close() error {
	if c.writing.TryLock() { // else a Write is under way: there is no time to wait for it
		if c.state.open {
			c.sendAlert(levelWarning, AlertCloseNotify)
		} else {
			c.sendAlert(levelFatal, AlertHandshakeFailure)
		}
		c.writing.Unlock()
	}
	err := c.raw.Close()
	if c.handshaking.TryLock() { // else Handshake reports its error
		if !c.complete {
			c.complete, c.failure = true, net.ErrClosed
		}
		c.handshaking.Unlock()
		c.report(net.ErrClosed)
	}
	return err
}

// CloseWrite announces the end of the data and closes the sending direction, if the
// connection below can do that.
func (c *Conn) CloseWrite() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.state.open {
		c.sendAlert(levelWarning, AlertCloseNotify)
	}
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn. It bounds the handshake too.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.deadlines.setRead(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.deadlines.setWrite(t) }

// deadlines combines the deadlines of the caller with that of the handshake: the
// earlier one is in force.
type deadlines struct {
	raw net.Conn

	mu          sync.Mutex
	read, write time.Time // of the caller; zero: none
	bound       time.Time // of the handshake; zero: none
}

// limit sets the deadline of the handshake. A closed connection fails when it is used.
func (d *deadlines) limit(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bound = t
	_ = d.raw.SetReadDeadline(earlier(d.read, t))
	_ = d.raw.SetWriteDeadline(earlier(d.write, t))
}

func (d *deadlines) setRead(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = t
	return d.raw.SetReadDeadline(earlier(t, d.bound))
}

func (d *deadlines) setWrite(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write = t
	return d.raw.SetWriteDeadline(earlier(t, d.bound))
}

// earlier returns the earlier of two deadlines; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
