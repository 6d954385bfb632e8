package admin

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// How many connections the service has at a time, in all and from one address;
// one more is closed. The second keeps a place for the operator, whoever else
// finds the port.
const (
	maxConns        = 512
	maxConnsPerAddr = 128
)

// writeTimeout is how long a client may take to read an answer, or the next part
// of one that has no bound.
const writeTimeout = 30 * time.Second

// boundedListener closes connections above maxConns and maxConnsPerAddr at once.
type boundedListener struct {
	net.Listener
	metrics *metrics

	mu   sync.Mutex // guards the fields below
	open int
	from map[netip.Addr]int // open connections by address; an IPv6 /64 is one
}

func newBoundedListener(ln net.Listener, m *metrics) *boundedListener {
	return &boundedListener{Listener: ln, metrics: m, from: make(map[netip.Addr]int)}
}

// Accept returns the next connection within the bounds.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := countedAs(c.RemoteAddr())
		refused := l.enter(peer)
		if refused == "" {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(peer) })}, nil
		}
		l.metrics.refuse(refused)
		_ = c.Close()
	}
}

// countedAs returns the address under which a peer is counted; the zero Addr if
// it has none.
func countedAs(peer net.Addr) netip.Addr {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	if p, err := a.Prefix(64); a.Is6() && err == nil {
		return p.Addr()
	}
	return a
}

// enter counts a connection or returns the reason why it is one too many.
func (l *boundedListener) enter(peer netip.Addr) (refused string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.open >= maxConns:
		return refusedConnections
	case l.from[peer] >= maxConnsPerAddr:
		return refusedPerAddr
	}
	l.open++
	l.from[peer]++
	return ""
}

func (l *boundedListener) leave(peer netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.from[peer]--; l.from[peer] <= 0 {
		delete(l.from, peer)
	}
}

// boundedConn tells its listener once that it is closed.
type boundedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// patience gives the client writeTimeout from now on to read.
func patience(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // test writers have none
}

// errTokenInQuery is what a request with a token in its address is told.
var errTokenInQuery = errors.New("a token does not belong into the address: addresses end up in logs and histories. " +
	"Send it as \"Authorization: Bearer TOKEN\", and make a new one now: stop the daemon, remove its token file, start it")

// tokenInQuery reports whether somebody put a token into the address: our own
// under any name, or anything under a name that tokens go by.
func (s *Server) tokenInQuery(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return false
	}
	for name, values := range r.URL.Query() {
		switch strings.ToLower(name) {
		case "token", "access_token", "admin_token", "auth", "authorization", "bearer", "api_key", "apikey":
			return true
		}
		if slices.ContainsFunc(values, s.rightToken) {
			return true
		}
	}
	return false
}

// knownHost reports whether the page may be opened under the host that a request
// names: an IP address, a name of this machine, or one of Options.Names. Any
// other may be a foreign site whose name was made to lead here, so that its
// scripts would pass for ours.
func (s *Server) knownHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || slices.Contains(s.opt.Names, host)
}

// pageHeaders are those of every page. Nothing is loaded from elsewhere, no
// script runs that is not ours, nobody shows a page inside of his.
func pageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
		"img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
