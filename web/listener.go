package web

import (
	"errors"
	"net"
	"net/netip"
	"sync"

	"github.com/respawnd/respawnd/internal/netserve"
)

// limitListener bounds the connections of a listener, in all and per address.
// One too many is closed at once; it is the visitor who should come back, not
// everybody else who should wait.
type limitListener struct {
	net.Listener
	max, perAddr int
	exempt       func(netip.Addr) bool // perAddr does not apply to these
	metrics      *netserve.Metrics

	mu    sync.Mutex // guards the fields below
	total int
	from  map[netip.Addr]int // open connections by counted address
}

func newLimitListener(ln net.Listener, most, perAddr int, exempt func(netip.Addr) bool, m *netserve.Metrics) *limitListener {
	return &limitListener{Listener: ln, max: most, perAddr: perAddr, exempt: exempt, metrics: m, from: make(map[netip.Addr]int)}
}

// Accept returns the next connection that is within the bounds.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.metrics.Drop(dropAccept)
			}
			return nil, err
		}
		addr := peerAddr(c.RemoteAddr())
		if reason := l.enter(addr); reason != "" {
			l.metrics.Drop(reason)
			_ = c.Close()
			continue
		}
		return &limitConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(addr) })}, nil
	}
}

// enter counts a connection or returns the reason why it is one too many.
func (l *limitListener) enter(peer netip.Addr) (refused string) {
	a, exempt := counted(peer), l.exempt(peer)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.total >= l.max:
		return dropFull
	case l.from[a] >= l.perAddr && !exempt:
		return dropPerAddr
	}
	l.total++
	l.from[a]++
	l.metrics.Opened()
	return ""
}

func (l *limitListener) leave(peer netip.Addr) {
	a := counted(peer)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	l.metrics.Closed()
	if l.from[a]--; l.from[a] <= 0 {
		delete(l.from, a)
	}
}

// limitConn tells its listener once that it is closed.
type limitConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *limitConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
