package netserve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// ServeHTTP is srv.Serve on ln with the bounds of MaxConns, MaxPerAddr, Exempt
// and Gate of opt on connections; its Refused, Metrics and Log are used too. A
// connection is StateNew until a whole header has come, StateBusy while it is
// answered, then StateIdle; a handler that sends events calls SetState. The
// rate of connections is not limited: a service limits that of requests.
//
// srv.ConnState and srv.ConnContext must not be set, and srv.Handler must.
func ServeHTTP(srv *http.Server, ln net.Listener, opt ConnOptions) error {
	opt.Rate = -1
	opt = opt.withDefaults()
	if opt.Refused == nil {
		opt.Refused = refuseHTTP
	}
	l := &gateListener{Listener: ln, admitter: newAdmitter(&opt), metrics: opt.Metrics}
	defer l.admitter.close()
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, seatKey{}, c.(*gatedConn).seat)
	}
	srv.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateIdle {
			c.(*gatedConn).seat.SetState(StateIdle)
		}
	}
	next := tapHTTP(opt.Metrics, srv.Handler)
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetState(r.Context(), StateBusy)
		next.ServeHTTP(w, r)
	})
	return srv.Serve(l)
}

// SetState sets the State of the connection of a request, whose context is ctx.
// It has no effect if ServeHTTP does not serve the request.
func SetState(ctx context.Context, s State) {
	seat, _ := ctx.Value(seatKey{}).(*Seat)
	seat.SetState(s)
}

// seatKey is the key of a context's *Seat.
type seatKey struct{}

// gateListener returns the connections that its admitter admits.
type gateListener struct {
	net.Listener
	admitter *admitter
	metrics  *Metrics
}

// Accept returns the next connection that is served.
func (l *gateListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.metrics.Drop(dropAccept)
			}
			return nil, err
		}
		c := &gatedConn{Conn: raw, seat: new(Seat), metrics: l.metrics}
		if _, ok := l.admitter.enter(c.seat, raw, addrPortOf(raw.RemoteAddr()), time.Now(), c); ok {
			l.metrics.Opened()
			return c, nil
		}
	}
}

// gatedConn gives its seat back when it is closed.
type gatedConn struct {
	net.Conn
	seat    *Seat
	metrics *Metrics
	closed  sync.Once
}

// Close closes the connection. The server calls it in any case.
func (c *gatedConn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.seat.Leave()
		c.metrics.Closed()
	})
	return err
}

// evict implements evictee. The server notices that the connection has ended.
func (c *gatedConn) evict() { _ = c.Conn.Close() }

// refuseHTTP returns the response to a connection that is refused unread.
func refuseHTTP(_ netip.AddrPort, why Refusal) []byte {
	status, text := "503 Service Unavailable", "too many connections, try again\n"
	if why.OfAddress() {
		status, text = "429 Too Many Requests", "too many connections from your address\n"
	}
	return []byte("HTTP/1.1 " + status + "\r\nConnection: close\r\nRetry-After: 10\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Cache-Control: no-store\r\nContent-Length: " + strconv.Itoa(len(text)) + "\r\n\r\n" + text)
}
