package natneg

import (
	"net/netip"
	"time"
)

// The times of a negotiation.
const (
	// completeWait is the time from its first init that a ready client has to
	// become complete.
	completeWait = 1200 * time.Millisecond
	// gameWait is the time from its first init that a client has to send the inits of its game
	// socket and of its negotiation socket from one address, see joinHalves.
	gameWait = 3 * time.Second
	// partnerWait is how long a client waits for its partner before the server
	// reports that none came. The client itself would wait for 60 seconds.
	partnerWait = 25 * time.Second
	// halfWayWait is how long a client may be silent between its inits. It
	// repeats them every half second.
	halfWayWait = 8 * time.Second
	// lingering is how long a paired negotiation is kept after its last packet:
	// reports come up to 14 seconds after the connect.
	lingering = 30 * time.Second
	// connectWindow is how long connects are sent after the first: its partner
	// pings for 6.3 seconds and then gives up.
	connectWindow = 8 * time.Second
	// followWait is how long a client waits for the receipt of its partner, see looseFirst.
	followWait = 600 * time.Millisecond
	// refusalGap is the time between the two copies of a refusal, and how long
	// the negotiation is kept after the last one.
	refusalGap = time.Second
	// reorderWindow is how late an init may be. One that comes later, from a
	// client that has confirmed its connect, begins a new round.
	reorderWindow = 2 * time.Second
)

// connectGaps are the times between the connects to a client that does not
// confirm: 7.5 seconds in all, which is within connectWindow. The gaps grow, so
// that the few that its packets pay for outlast a short outage.
var connectGaps = [...]time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second,
}

// Bounds of packets to an address that may be forged.
const (
	// maxConnects is the most connects per client and partner, refusals and all
	// rounds included.
	maxConnects = 10
	// connectsPerPacket is the most connects per packet that came. A client
	// announces one port in each, so that two to four are there for it.
	connectsPerPacket = 1
)

// phase is how far a negotiation has come.
type phase uint8

const (
	phaseWaiting phase = iota // for inits
	phasePaired               // two or more have been introduced
	phaseRefused              // the client that came has been sent a refusal
	phaseOver                 // nothing is left to do; to be removed
)

// negotiation holds the clients of one cookie. Its methods are functions of its
// state, an event and the time since the start of the server; their results are
// effects. Nothing else changes it.
type negotiation struct {
	cookie   uint32
	game     string // of the first client, as the catalogue has it; empty if it is not there
	sides    [2]side
	more     *[maxIndexes - 2]side // of the indexes from 2 on; nil: none has come
	relays   relays
	rivals   []rival
	phase    phase
	refusals uint8         // copies sent
	opened   time.Duration // first init of this round
	last     time.Duration // last packet of this round, or the first refusal
	place    place         // in the table, which owns it
}

// size returns the number of sides: all indexes below it have one.
func (n *negotiation) size() int {
	if n.more == nil {
		return len(n.sides)
	}
	return maxIndexes
}

// side returns the side of an index below size.
func (n *negotiation) side(i int) *side {
	if i < len(n.sides) {
		return &n.sides[i]
	}
	return &n.more[i-len(n.sides)]
}

// seat returns the side of an index below maxIndexes.
func (n *negotiation) seat(i int) *side {
	if i >= n.size() {
		n.more = new([maxIndexes - 2]side)
	}
	return n.side(i)
}

// effects are the actions that result from an event.
type effects struct {
	sends []send
	ended []outcome
	// wishes are pairs that wait for the relay, learnt the facts to store about pairs.
	wishes []wish
	learnt []learnt

	// relay reports whether two clients are to be relayed; nil: none are. reset keeps
	// it.
	relay func(now time.Duration, game string, a, b *side) bool
	given func(player, partner netip.Addr) netip.Addr // Options.Given; reset keeps it
	nonce func() uint64                               // for the tests of routers; nil: there are none; reset keeps it
}

// reset clears the effects and keeps the memory if it is small.
func (e *effects) reset() {
	const little = 1024
	if cap(e.sends) > little || cap(e.ended) > little {
		*e = effects{given: e.given, relay: e.relay, nonce: e.nonce}
	}
	e.sends, e.ended, e.wishes, e.learnt = e.sends[:0], e.ended[:0], e.wishes[:0], e.learnt[:0]
}

// send is a packet that is to be sent.
type send struct {
	to   endpoint
	via  via
	size uint8
	data [maxAnswer]byte
}

// call is an init, and how it came.
type call struct {
	version byte
	name    uint64 // keyed hash of the game name
	from    endpoint
	via     via
	in      *Init
}

// init takes an init from a client; its index is below maxIndexes. It returns
// why the init was ignored, "" if it was not.
func (n *negotiation) init(now time.Duration, c *call, e *effects) drop {
	i := int(c.in.Index)
	if n.isPartner(c.from, i) {
		return dropItself
	}
	s := n.seat(i)
	switch {
	case !s.claimed() || s.owns(c.from.ip):
		if n.restarted(s, now, c.in.PortType, c.from) {
			n.newRound(now, i, e)
		}
		if !s.take(now, c) {
			return dropOtherAddress
		}
		n.unite(c.in.Index)
	case !n.join(now, c):
		return dropOtherAddress
	}
	if s.next == never && s.waits() {
		s.next = now // its packets earn it another connect
	}
	n.last = now
	n.advance(now, e)
	return notDropped
}

// isPartner reports whether a client of another index is seen at the address.
func (n *negotiation) isPartner(from endpoint, index int) bool {
	for i := range n.size() {
		if i != index && n.side(i).uses(from) {
			return true
		}
	}
	return false
}

// restarted reports whether an init belongs to a new attempt with the same cookie,
// and not to the one that has been answered.
func (n *negotiation) restarted(s *side, now time.Duration, t PortType, from endpoint) bool {
	moved := s.heardOf(t) && s.at[t] != from
	switch n.phase {
	case phaseRefused:
		return moved || !s.present()
	case phasePaired:
		return s.met != 0 && !s.waits() && (moved || now > s.confirmedAt+reorderWindow)
	case phaseWaiting, phaseOver:
	}
	return false
}

// newRound starts a new round because of a client. Its partners have to start
// again too, because their old sockets are useless for a new attempt, unless
// they still wait for their connect.
func (n *negotiation) newRound(now time.Duration, i int, e *effects) {
	s := n.side(i)
	if n.phase == phasePaired {
		n.endOf(now, i, e)
	}
	met := false
	for k := range n.size() {
		switch p := n.side(k); {
		case k == i:
		case n.phase == phaseRefused, p.met == 1<<i && p.confirmed.has(i):
			n.relays.forget(k)
			p.again()
		case !p.confirmed.has(i):
			p.met.drop(i)
		}
		met = met || (k != i && n.side(k).met != 0)
	}
	n.dismiss(i)
	n.relays.forget(i)
	s.again()
	if !met {
		n.phase, n.refusals, n.opened = phaseWaiting, 0, now
	}
}

// ack takes the receipt of a connect. It returns whether it was one.
func (n *negotiation) ack(now time.Duration, from endpoint, index byte) bool {
	s := n.side(int(index))
	if n.phase != phasePaired || s.met == 0 || s.negotiating() != from {
		return false
	}
	s.heard()
	s.confirm(now)
	n.last = now
	for k := range n.size() {
		if p := n.side(k); s.met.has(k) && p.tries == 0 && p.waits() {
			p.next = min(p.next, now) // see looseFirst
		}
	}
	return true
}

// report takes a client's report. It returns whether the report counts.
func (n *negotiation) report(now time.Duration, from endpoint, r *Report, e *effects) bool {
	s := n.side(int(r.Index))
	if n.phase != phasePaired || s.met == 0 || s.negotiating() != from {
		return false
	}
	s.confirm(now) // its receipt may have been lost
	s.report = reportFailure
	if r.Result == 1 {
		s.report = reportSuccess
	}
	s.reportedNAT = kindOfReport(r.nat())
	n.last = now
	if n.allReported() {
		n.end(now, e)
		n.phase = phaseOver
	}
	return true
}

// allReported reports whether two clients or more are there and all have reported.
func (n *negotiation) allReported() bool {
	reported := 0
	for i := range n.size() {
		switch s := n.side(i); {
		case !s.present():
		case s.report == reportNone:
			return false
		default:
			reported++
		}
	}
	return reported > 1
}

// advance performs the work that is due at a time. It may be called at any time.
func (n *negotiation) advance(now time.Duration, e *effects) {
	for i := range n.size() {
		if n.phase == phaseWaiting || n.phase == phasePaired {
			n.joinHalves(now, i)
			n.test(now, n.side(i), e)
		}
	}
	switch n.phase {
	case phaseWaiting:
		n.wait(now, e)
	case phasePaired:
		n.introduce(now, e)
		n.connects(now, e)
		if now >= n.last+lingering {
			n.end(now, e)
			n.phase = phaseOver
		}
	case phaseRefused:
		switch {
		case now >= n.last+2*refusalGap:
			n.phase = phaseOver
		case now >= n.last+refusalGap && n.refusals == 1:
			n.refuse(e)
		}
	case phaseOver:
	}
}

// wait introduces two sides if possible, and ends the negotiation when its time is over.
func (n *negotiation) wait(now time.Duration, e *effects) {
	switch {
	case n.introduce(now, e):
		n.phase, n.last = phasePaired, now
		n.connects(now, e)
	case now >= n.giveUpAt():
		n.end(now, e)
		n.phase, n.last = phaseRefused, now
		n.refuse(e)
	}
}

// introduce makes partners of all ready clients, but those that wait for the relay.
// It reports whether there are others.
func (n *negotiation) introduce(now time.Duration, e *effects) (any bool) {
	for i := range n.size() {
		s := n.side(i)
		if !s.ready(now) {
			continue
		}
		for k := range i {
			if p := n.side(k); p.ready(now) && !p.met.has(i) && !s.met.has(k) && !awaitsTests(p, s) && !n.awaitsRelay(now, k, i, e) {
				if !n.relays.ready(k, i) {
					e.learnt = append(e.learnt, learnt{pairOf(p, s), lessonTried})
				}
				s.meet(now, k)
				p.meet(now, i)
				if !n.relays.ready(k, i) {
					looseFirst(now, p, s)
				}
				n.dismiss(i)
				n.dismiss(k)
				any = true
			}
		}
	}
	return any
}

// looseFirst lets the first connect of a client wait for its partner's receipt, if the partner's router
// is the only one that is loose: its packets then open it before the client's arrive. Routers that
// track connections keep out for good whose packets came too early.
func looseFirst(now time.Duration, a, b *side) {
	switch looseA, looseB := a.tests.filter() == filterLoose, b.tests.filter() == filterLoose; {
	case looseA && !looseB:
		b.next = now + followWait
	case looseB && !looseA:
		a.next = now + followWait
	}
}

// meetingAt returns when the next two are ready to be introduced, or the next test is due, or the
// halves of a client become one.
func (n *negotiation) meetingAt() time.Duration {
	at := never
	for i := range n.size() {
		s := n.side(i)
		at = min(at, s.testAt(), n.halvesAt(i))
		if !s.needed() {
			continue
		}
		for k := range i {
			if p := n.side(k); p.needed() && !p.met.has(i) && !s.met.has(k) {
				at = min(at, max(s.readyAt(), p.readyAt()))
			}
		}
	}
	return at
}

// giveUpAt returns the end of waiting: when a client has stopped half-way, or
// when the ready one has waited long enough.
func (n *negotiation) giveUpAt() time.Duration {
	at, came := never, 0
	for i := range n.size() {
		if n.side(i).present() {
			came++
		}
	}
	for i := range n.size() {
		switch s := n.side(i); {
		case !s.present():
		case !s.needed():
			at = min(at, s.last+halfWayWait, s.first+partnerWait)
		case came == 1: // where several have come, the one that is not ready decides
			at = min(at, s.first+partnerWait)
		}
	}
	return at
}

// connects sends the clients the connect packets that are due.
func (n *negotiation) connects(now time.Duration, e *effects) {
	for i := range n.size() {
		if s := n.side(i); s.waits() && now >= s.next {
			n.connect(now, i, e)
		}
	}
}

// connect sends a client the address of a partner, if the bounds allow it: of
// each unconfirmed one in turn.
func (n *negotiation) connect(now time.Duration, i int, e *effects) {
	s := n.side(i)
	if !s.mayConnect() || now > s.metAt+connectWindow {
		s.next = never
		return
	}
	partner := (s.met &^ s.confirmed).after(int(s.telling))
	s.telling = uint8(partner)
	remote := e.remote(s, n.side(partner), i < partner)
	if n.relays.ready(i, partner) {
		remote = n.relays.of(i, partner).at[boolByte(i > partner)]
	}
	n.sendConnect(s, Connect{remote.addrPort(), gotData, FinishedOK}, e)
	s.next = never
	if int(s.tries) <= len(connectGaps) {
		s.next = now + connectGaps[s.tries-1]
	}
}

// refuse informs the clients that they will not be introduced. An address from
// which only one packet came, which may be forged, is sent only one packet.
func (n *negotiation) refuse(e *effects) {
	for i := range n.size() {
		s := n.side(i)
		if !s.mayConnect() || (n.refusals > 0 && s.packets < 2) {
			continue
		}
		why := FinishedNoOne
		if !s.needed() {
			why = FinishedHalfWay
		}
		n.sendConnect(s, Connect{Remote: addrPort(nil), Finished: why}, e)
	}
	n.refusals++
}

func (n *negotiation) sendConnect(s *side, c Connect, e *effects) {
	s.tries++
	s.connects++
	p := send{to: s.negotiating(), via: s.via[PortNN1]}
	b := Header{s.version, TypeConnect, n.cookie}.AppendTo(p.data[:0])
	p.size = uint8(len(c.AppendTo(b)))
	e.sends = append(e.sends, p)
}

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// due returns when advance is to be called next. It is in the past when that
// is now.
func (n *negotiation) due() time.Duration {
	switch n.phase {
	case phaseWaiting:
		return min(n.giveUpAt(), n.meetingAt())
	case phasePaired:
		at := min(n.last+lingering, n.meetingAt())
		for i := range n.size() {
			if s := n.side(i); s.waits() {
				at = min(at, s.next)
			}
		}
		return at
	case phaseRefused:
		if n.refusals == 1 {
			return n.last + refusalGap
		}
		return n.last + 2*refusalGap
	case phaseOver:
	}
	return 0
}
