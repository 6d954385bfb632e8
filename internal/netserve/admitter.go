package netserve

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Bounds of the final message to refused connections.
const (
	// refuseWrite bounds the write. The message fits into the empty buffer of a
	// new TCP connection, so that the write does not wait for the peer.
	refuseWrite = 10 * time.Millisecond
	// refuseLinger is how long such a connection stays open. Closing it at once
	// would discard the message if the peer has already sent something.
	refuseLinger = time.Second
	// maxLinger is the number of such connections that stay open at a time.
	// More are closed at once.
	maxLinger = 64
)

// admitter passes each accepted connection of a service to the gate, counts the
// decisions, and closes refused connections.
type admitter struct {
	gate    *Gate
	refused func(peer netip.AddrPort, why Refusal) []byte
	opt     *ConnOptions
	parting shelf
	full    fullLog
}

// newAdmitter returns the admitter for opt, which has its defaults filled in.
func newAdmitter(opt *ConnOptions) *admitter {
	m := &admitter{gate: opt.Gate, refused: opt.Refused, opt: opt}
	if m.gate == nil {
		m.gate = NewGate(*opt)
	}
	return m
}

// enter seats raw on s and returns how long it waits before it is served. If it
// is refused, ok is false and the caller no longer owns raw.
func (m *admitter) enter(s *Seat, raw net.Conn, peer netip.AddrPort, now time.Time, owner evictee) (delay time.Duration, ok bool) {
	a := m.gate.enter(s, peer.Addr(), now, owner)
	m.opt.Metrics.admitted(&a)
	if a.Full {
		m.full.note(m.opt, &a, now)
	}
	if a.Seat == nil {
		m.opt.Log.Debug().Stringer("peer", peer).Str("reason", string(a.Refused)).Msg("connection refused")
		m.refuse(raw, peer, a.Refused)
		return 0, false
	}
	return a.Delay, true
}

// refuse sends the peer the reason for the refusal and closes raw.
func (m *admitter) refuse(raw net.Conn, peer netip.AddrPort, why Refusal) {
	var words []byte
	if m.refused != nil {
		words = m.refused(peer, why)
	}
	if len(words) == 0 || raw.SetWriteDeadline(time.Now().Add(refuseWrite)) != nil {
		_ = raw.Close()
		return
	}
	_, err := raw.Write(words)
	half, ok := raw.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil || m.parting.len() >= maxLinger {
		_ = raw.Close()
		return
	}
	end := func() { _ = raw.Close() }
	m.parting.put(refuseLinger, end, end)
}

// close closes the refused connections that are still open.
func (m *admitter) close() { m.parting.close() }

// fullLog logs, at a limited rate, that a service has no room for more
// connections.
type fullLog struct {
	mu               sync.Mutex // guards the fields below
	last             time.Time
	refused, evicted int // since then
}

// note counts a newcomer that found no room.
func (l *fullLog) note(opt *ConnOptions, a *Admission, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Evicted {
		l.evicted++
	} else {
		l.refused++
	}
	if !l.last.IsZero() && now.Sub(l.last) < throttle {
		return
	}
	opt.Log.Warn().Int("addresses", a.Addrs).Int("most_of_one", a.Most).Int("refused", l.refused).Int("closed", l.evicted).
		Str("remedy", "raise max_conns of this service, lower its max_per_addr, or ban the addresses that hold connections without using them").
		Msg("all connections of the service are in use")
	l.last, l.refused, l.evicted = now, 0, 0
}
