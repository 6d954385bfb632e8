package natneg

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/service"
)

// relayed is a pair of a negotiation that is relayed, or for which that was wanted.
type relayed struct {
	low, high int           // indexes
	asked     time.Duration // when the relay was asked; distinguishes attempts
	state     relayState
	at        [2]endpoint // that each is to send to, the lower index first
}

type relayState uint8

const (
	relayAsked   relayState = iota // the answer has not come
	relayReady                     // the players are sent to the relay
	relayRefused                   // the players are sent to each other
)

// relayWait is how long the introduction of a pair waits for the relay.
const relayWait = 3 * time.Second

// wish asks for a relay for a pair of a negotiation.
type wish struct {
	n         *negotiation
	low, high int
	asked     time.Duration
	game      string
	players   [2]service.RelayPlayer
}

// relays are those of a negotiation.
type relays []relayed

// of returns the entry of a pair, nil if there is none.
func (l relays) of(i, k int) *relayed {
	low, high := min(i, k), max(i, k)
	for j := range l {
		if r := &l[j]; r.low == low && r.high == high {
			return r
		}
	}
	return nil
}

func (l relays) ready(i, k int) bool {
	r := l.of(i, k)
	return r != nil && r.state == relayReady
}

// forget forgets those of a client, whose sockets are others now.
func (l *relays) forget(index int) {
	*l = slices.DeleteFunc(*l, func(r relayed) bool { return r.low == index || r.high == index })
}

// awaitsRelay reports whether the introduction of two ready clients has to wait for
// the relay. It asks for the relay if the two cannot meet otherwise.
func (n *negotiation) awaitsRelay(now time.Duration, low, high int, e *effects) bool {
	if r := n.relays.of(low, high); r != nil {
		if r.state == relayAsked && now >= r.asked+relayWait {
			r.state = relayRefused
		}
		return r.state == relayAsked
	}
	a, b := n.side(low), n.side(high)
	if e.relay == nil || !e.relay(now, n.game, a, b) {
		return false
	}
	n.relays = append(n.relays, relayed{low: low, high: high, asked: now})
	e.wishes = append(e.wishes, wish{
		n: n, low: low, high: high, asked: now, game: n.game, players: [2]service.RelayPlayer{a.relayPlayer(), b.relayPlayer()},
	})
	return true
}

// answer takes the answer to a wish. It returns false if nothing waits for it.
func (n *negotiation) answer(now time.Duration, w *wish, at [2]netip.AddrPort, ok bool, e *effects) bool {
	r := n.relays.of(w.low, w.high)
	if r == nil || r.asked != w.asked || r.state != relayAsked {
		return false
	}
	r.state = relayRefused
	if ok {
		r.state, r.at = relayReady, [2]endpoint{endpointOf(at[0]), endpointOf(at[1])}
	}
	n.advance(now, e)
	return true
}

// relayPlayer describes the client to the relay.
func (s *side) relayPlayer() (p service.RelayPlayer) {
	for _, a := range append([]endpoint{s.public()}, s.at[:]...) {
		if ip := netip.AddrFrom4(a.ip); a.known() && !slices.Contains(p.Seen, ip) {
			p.Seen = append(p.Seen, ip)
		}
	}
	if v := s.via[PortNN1]; v.node() == 0 {
		p.Reached = localAddr(v.ip)
	}
	p.Proved, p.At = s.tests.proved(), s.public().addrPort()
	return p
}

// prospect is whether two clients reach each other when each is sent the other's address.
type prospect uint8

const (
	prospectUnknown prospect = iota
	prospectGood
	prospectBad
)

// prospect returns that of two clients in different networks.
func (m *memory) prospect(now time.Duration, a, b *side) prospect {
	portA, portB := m.port(now, a), m.port(now, b)
	switch {
	case a.reachable() || b.reachable():
		return prospectGood
	case portA == portForeseen && portB == portForeseen:
		return prospectGood
	case portA == portNew && (portB == portNew || b.tests.filter() == filterStrict),
		portB == portNew && a.tests.filter() == filterStrict:
		return prospectBad
	default:
		return prospectUnknown
	}
}

// reachable reports whether a partner reaches the client from any port, once the client has
// sent a packet to the partner's address.
func (s *side) reachable() bool {
	return s.tests.filter() == filterLoose || s.nat() == meeting.Open && s.tests.filter() == filterUnknown
}

// port is what is known about the port that a client will have towards its partner.
type port uint8

const (
	portUnknown  port = iota
	portForeseen      // the partner can be sent there
	portNew
)

// port returns what is known about the port of a client.
func (m *memory) port(now time.Duration, c *side) port {
	kind, seen := c.nat(), m.router(now, c.public().ip)
	if kind == meeting.Unknown || kind == meeting.Strict || seen == meeting.Symmetric && c.tests.filter() == filterStrict {
		kind = seen // from another port after a packet that it kept out, perhaps
	}
	switch {
	case kind == meeting.Open, kind == meeting.Cone, kind == meeting.Symmetric && c.expected() != c.public():
		return portForeseen
	case kind == meeting.Symmetric:
		return portNew
	default:
		return portUnknown
	}
}

// wantsRelay reports whether two clients are to be relayed. s.mu is held.
func (s *Server) wantsRelay(now time.Duration, game string, a, b *side) bool {
	switch {
	case s.opt.Relay == nil || !s.opt.Relay.On(game):
		return false
	case s.memory.failed(now, pairOf(a, b)):
		return true
	case a.public().ip == b.public().ip:
		return false
	}
	switch first := s.opt.Relay.First(); s.memory.prospect(now, a, b) {
	case prospectBad:
		return true
	case prospectUnknown:
		return first != service.FirstNever
	default:
		return first == service.FirstAlways
	}
}

// knock is a packet that clients do not answer.
func (w *wish) knock() []byte {
	return Header{maxVersion, TypeStateUpdate, w.n.cookie}.AppendTo(nil)
}

// maxWishes bounds the pairs that wait for the relay, of proved players and of others. Further
// ones are introduced without it.
const maxWishes = 64

// wishes are the pairs that wait for the relay. Those of proved players come first: packets with
// forged addresses do not hold them up.
type wishes struct {
	server        *Server
	proved, other chan wish
}

func newWishes(s *Server) wishes {
	return wishes{s, make(chan wish, maxWishes), make(chan wish, maxWishes)}
}

// came notes where the first packet of a proved player came to the relay from: it shows whether its
// router kept the port, although a packet of the relay was there before.
func (q *wishes) came(p *service.RelayPlayer, from netip.AddrPort) {
	if !p.Proved {
		return
	}
	l := learnt{routerOf(p.At.Addr().As4()), lessonEach}
	if from == p.At {
		l.lesson = lessonOnce
	}
	q.server.learn([]learnt{l})
	q.server.nodes.teach([]learnt{l})
}

// next returns the next wish; ok is false if ctx has ended.
func (q *wishes) next(ctx context.Context) (w wish, ok bool) {
	select {
	case w = <-q.proved:
		return w, true
	default:
	}
	select {
	case <-ctx.Done():
		return wish{}, false
	case w = <-q.proved:
	case w = <-q.other:
	}
	return w, true
}

// ask hands a wish to serve.
func (q *wishes) ask(w *wish) {
	queue := q.other
	if w.players[0].Proved && w.players[1].Proved {
		queue = q.proved
	}
	select {
	case queue <- *w:
	default:
		q.server.metrics.relayBusy.Inc()
		q.answer(w, [2]netip.AddrPort{}, false)
	}
}

// serve opens relays for pairs until ctx ends: that takes system calls, for which
// packets must not wait.
func (q *wishes) serve(ctx context.Context) {
	for w, ok := q.next(ctx); ok; w, ok = q.next(ctx) {
		for i := range w.players {
			p := &w.players[i]
			p.Knock, p.Came = w.knock(), func(from netip.AddrPort) { q.came(p, from) }
		}
		at, err := q.server.opt.Relay.Open(w.game, w.players)
		if err != nil {
			q.server.opt.Log.Debug().Err(err).Stringer("client", w.players[0].Seen[0]).Stringer("host", w.players[1].Seen[0]).Msg("pair not relayed")
		}
		q.answer(&w, at, err == nil)
	}
}

// answer has a negotiation continue that waits for the relay.
func (q *wishes) answer(w *wish, at [2]netip.AddrPort, ok bool) {
	e := q.server.newEffects()
	if ours, waits := q.server.takeAnswer(w, at, ok, &e); waits {
		q.server.carryOut(ours, &e, nil)
	}
}

func (s *Server) takeAnswer(w *wish, at [2]netip.AddrPort, ok bool, e *effects) (ours *openSockets, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.table.byCookie[w.n.cookie]; n != nil; n = n.place.same {
		if n == w.n && n.answer(time.Since(s.start), w, at, ok, e) {
			s.table.changed(n)
			return s.sockets, true
		}
	}
	return nil, false
}

// learn notes lessons, of this node or another one.
func (s *Server) learn(list []learnt) {
	now := time.Since(s.start)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range list {
		s.memory.note(now, l.id, l.lesson)
	}
}
