package ssl3

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Defaults and fixed limits of handshakes.
const (
	// Timeout is how long a handshake may take.
	Timeout = 10 * time.Second
	// burstSeconds is the burst of handshakes, in seconds of their rate.
	burstSeconds = 4
)

// Outcome is how a handshake ended. It is the value of a metric's label.
type Outcome string

// The outcomes.
const (
	Completed   Outcome = "completed"
	Malformed   Outcome = "malformed"    // the client broke the protocol
	Aborted     Outcome = "aborted"      // the client went away or sent an alert
	TimedOut    Outcome = "timeout"      // Timeout has passed
	TooMany     Outcome = "pending"      // Limits.Pending
	TooFast     Outcome = "rate"         // Limits.Rate
	TooFastAddr Outcome = "address_rate" // Limits.AddrRate
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{Completed, Malformed, Aborted, TimedOut, TooMany, TooFast, TooFastAddr}
}

// Limits bound the handshakes of a Listener. All are above 0. "Address" is an IPv4
// address or an IPv6 /64.
type Limits struct {
	Rate     int // handshakes per second
	AddrRate int // handshakes per second of one address
	Pending  int // handshakes at once; when there are more, one of the address with most of them ends
}

// Options configure a Listener.
type Options struct {
	Identity *Identity
	Rand     io.Reader
	Limits   Limits
	// Exempt reports whether AddrRate does not apply to an address; nil: it always
	// applies.
	Exempt func(netip.Addr) bool
	// Ended, if not nil, is called with the outcome of each handshake. It must not
	// block.
	Ended func(netip.Addr, Outcome)
}

// Listener is a net.Listener whose connections are of SSL 3.0. It makes no handshake by
// itself: the first Read of a connection does.
type Listener struct {
	net.Listener
	opt      Options
	pending  *netserve.Gate
	entering sync.Mutex // held while a connection enters pending
	live     atomic.Pointer[limiters]
}

// limiters are the rates in force. They are immutable.
type limiters struct{ all, addr *netserve.Limiter }

// NewListener returns a Listener over ln.
func NewListener(ln net.Listener, opt Options) *Listener {
	l := &Listener{Listener: ln, opt: opt, pending: netserve.NewGate(gateOptions(opt.Limits))}
	l.SetLimits(opt.Limits)
	return l
}

// gateOptions are the limits of the gate that counts pending handshakes. Its own limit
// per address is not needed: an address with many has to give way to others.
func gateOptions(limits Limits) netserve.ConnOptions {
	return netserve.ConnOptions{MaxConns: limits.Pending, MaxPerAddr: -1, Rate: -1}
}

// SetLimits changes the limits. Handshakes under way continue.
func (l *Listener) SetLimits(limits Limits) {
	l.pending.SetLimits(gateOptions(limits))
	l.live.Store(&limiters{
		all:  netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(limits.Rate), Burst: burstSeconds * limits.Rate, Slots: 1}),
		addr: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(limits.AddrRate), Burst: burstSeconds * limits.AddrRate, Slots: 1 << 12}),
	})
}

// Pending returns the number of handshakes under way.
func (l *Listener) Pending() int { return l.pending.Len() }

// The reasons for which a handshake is refused.
var (
	errTooMany     = errors.New("too many handshakes at once")
	errTooFast     = errors.New("too many handshakes")
	errTooFastAddr = errors.New("too many handshakes of the address")
)

// Accept returns the next connection. One that finds no room among the pending
// handshakes gets an alert and is closed.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(raw); c != nil {
			return c, nil
		}
	}
}

// admit returns the connection over raw, nil if it was closed.
func (l *Listener) admit(raw net.Conn) *Conn {
	peer := peerOf(raw)
	s := newServer(l.opt.Identity, l.opt.Rand, func() error { return l.permit(peer) })
	c := newConn(raw, &s.state, Timeout)
	l.entering.Lock()
	defer l.entering.Unlock()
	a := l.pending.Enter(peer, time.Now(), c.evict)
	if a.Seat == nil {
		_ = c.Close()
		l.end(peer, errTooMany)
		return nil
	}
	c.ended = func(err error) {
		a.Seat.Leave()
		if err != nil && c.evicted.Load() {
			err = errTooMany
		}
		l.end(peer, err)
	}
	return c
}

// evict ends a connection whose handshake has to give way to that of another one.
func (c *Conn) evict() {
	c.evicted.Store(true)
	_ = c.Close()
}

// permit decides whether a handshake may continue with the decryption.
func (l *Listener) permit(peer netip.Addr) error {
	now, live := time.Now(), l.live.Load()
	exempt := l.opt.Exempt != nil && l.opt.Exempt(peer)
	if !exempt && !live.addr.Allow(peer, now) {
		return &protocolError{AlertHandshakeFailure, errTooFastAddr}
	}
	if !live.all.Allow(netip.Addr{}, now) {
		return &protocolError{AlertHandshakeFailure, errTooFast}
	}
	return nil
}

// end reports how a handshake ended.
func (l *Listener) end(peer netip.Addr, err error) {
	if l.opt.Ended != nil {
		l.opt.Ended(peer, outcome(err))
	}
}

// outcome classifies the result of a handshake.
func outcome(err error) Outcome {
	_, violated := alertOf(err)
	switch {
	case err == nil:
		return Completed
	case errors.Is(err, errTooMany):
		return TooMany
	case errors.Is(err, errTooFast):
		return TooFast
	case errors.Is(err, errTooFastAddr):
		return TooFastAddr
	case errors.Is(err, ErrHandshakeTimeout):
		return TimedOut
	case violated:
		return Malformed
	default:
		return Aborted
	}
}

// peerOf returns the address of the other side, unmapped.
func peerOf(c net.Conn) netip.Addr {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return a.AddrPort().Addr().Unmap()
}
