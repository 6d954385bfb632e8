package onehost

import (
	"errors"
	"net"
)

// Listener is a net.Listener whose connections are repaired.
type Listener struct {
	net.Listener
	repaired func() // called for each line that was removed; nil: it is not
}

// NewListener returns a Listener over ln. repaired must not block.
func NewListener(ln net.Listener, repaired func()) *Listener { return &Listener{ln, repaired} }

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, header: header{repaired: l.repaired}}, nil
}

// conn repairs the input of a connection. Read is called by one goroutine at a time.
type conn struct {
	net.Conn
	header header
	ready  []byte // repaired and not read yet
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for len(c.ready) == 0 {
		if c.header.over || len(p) == 0 {
			return c.Conn.Read(p)
		}
		// The header comes in the memory of the reader: a line or two are kept back.
		n, err := c.Conn.Read(p)
		c.ready = c.header.take(p[:n])
		if err != nil {
			if !isTimeout(err) {
				c.ready = append(c.ready, c.header.flush()...)
			}
			if len(c.ready) == 0 {
				return 0, err
			}
			break // the next Read finds the error again
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// isTimeout reports whether a connection can be read again after err.
func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// CloseWrite ends the direction to the client, if the connection can.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
