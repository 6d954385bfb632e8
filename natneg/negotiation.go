package natneg

import "time"

// The times of a negotiation.
const (
	// completeWait is how long a client that is ready is given to become
	// complete, from its first init.
	completeWait = 1200 * time.Millisecond
	// partnerWait is how long a client waits for its partner before it is told
	// that nobody came. By itself it would wait for 60 seconds.
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
	// refusalGap is the time between the two copies of a refusal, and how long
	// the negotiation is kept after the last one.
	refusalGap = time.Second
	// reorderWindow is how late an init may be. One that comes later, from a
	// client that has confirmed its connect, begins a new round.
	reorderWindow = 2 * time.Second
)

// connectGaps are the times between the connects to a client that does not
// confirm: 7.6 seconds in all, which is within connectWindow.
var connectGaps = [maxConnects - 1]time.Duration{
	500 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond,
	700 * time.Millisecond, 800 * time.Millisecond, 900 * time.Millisecond,
	1000 * time.Millisecond, 1200 * time.Millisecond, 1400 * time.Millisecond,
}

// Bounds of what is sent to an address that may be forged.
const (
	// maxConnects is the most connects per client and negotiation, refusals
	// and all rounds included.
	maxConnects = 10
	// connectsPerPacket is the most connects per packet that came.
	connectsPerPacket = 3
)

// A report as far as it concerns a side.
const (
	reportNone = iota
	reportFailure
	reportSuccess
)

// side is one of the two clients of a negotiation.
type side struct {
	ip       [4]byte // the public address; set once, by the first packet
	local    endpoint
	ports    [portTypes]uint16 // public ports; 0: not heard in this round
	via      [portTypes]via
	version  byte
	gamePort bool

	packets  uint8 // that came, at most 255
	connects uint8 // that were sent, in all rounds
	tries    uint8 // that were sent in this round
	acked    bool

	report      uint8
	reportedNAT natKind

	first, last time.Duration // inits of this round
	next        time.Duration // when the next connect is due
	ackedAt     time.Duration
}

// claimed tells whether a client has taken this place.
func (s *side) claimed() bool { return s.ip != [4]byte{} }

// present tells whether the client has been heard in this round.
func (s *side) present() bool { return s.ports != [portTypes]uint16{} }

// needed tells whether what a connect needs has come.
func (s *side) needed() bool {
	return s.ports[PortNN1] != 0 && (!s.gamePort || s.ports[PortGame] != 0)
}

// complete tells whether every init of the client's version has come.
func (s *side) complete() bool {
	return s.needed() && (s.version < 2 || s.ports[PortNN2] != 0) && (s.version < 3 || s.ports[PortNN3] != 0)
}

// ready tells whether the client can be introduced.
func (s *side) ready(now time.Duration) bool {
	return s.needed() && now >= s.readyAt()
}

// readyAt returns from when on a client that has what it needs is ready.
func (s *side) readyAt() time.Duration {
	if s.complete() {
		return s.first
	}
	return s.first + completeWait
}

// negotiating is the address that connects go to and that receipts and reports
// come from.
func (s *side) negotiating() endpoint { return endpoint{s.ip, s.ports[PortNN1]} }

// mayConnect keeps to the bounds of what is sent to one client.
func (s *side) mayConnect() bool {
	return s.ports[PortNN1] != 0 && int(s.connects) < min(maxConnects, connectsPerPacket*int(s.packets))
}

// heard counts a packet of the client.
func (s *side) heard() { s.packets = max(s.packets, s.packets+1) }

// again forgets a round. The claim to the place and the bounds stay.
func (s *side) again() {
	*s = side{ip: s.ip, packets: s.packets, connects: s.connects}
}

// phase is how far a negotiation has come.
type phase uint8

const (
	phaseWaiting phase = iota // for inits
	phasePaired               // the two have been introduced
	phaseRefused              // whoever came has been told that it fails
	phaseOver                 // nothing is left to do; to be removed
)

// negotiation is one cookie of one game. Its methods are functions of what
// it is, of the event and of the time, which counts from the start of the
// server; what they ask for goes into the effects. Nothing else changes it.
type negotiation struct {
	cookie   uint32
	name     uint64 // keyed hash of the game name as it was sent
	game     string // name in the catalogue, empty if it is not there
	sides    [2]side
	phase    phase
	refusals uint8         // copies sent
	opened   time.Duration // first init of this round
	last     time.Duration // last packet of this round, or the first refusal
	paired   time.Duration // first connects of this round
	place    place         // in the table, which owns it
}

// effects are what an event asks the server to do.
type effects struct {
	sends []send
	ended []outcome
}

// reset forgets the effects but keeps the memory, as long as it is little.
func (e *effects) reset() {
	const little = 1024
	if cap(e.sends) > little || cap(e.ended) > little {
		*e = effects{}
	}
	e.sends, e.ended = e.sends[:0], e.ended[:0]
}

// send is a packet that is to be sent.
type send struct {
	to   endpoint
	via  via
	size uint8
	data [maxAnswer]byte
}

// init takes an init from a client; its index is 0 or 1. It returns why the
// init was ignored, "" if it was not.
func (n *negotiation) init(now time.Duration, version byte, from endpoint, v via, in *Init, e *effects) string {
	s, partner := &n.sides[in.Index], &n.sides[1-in.Index]
	switch {
	case s.claimed() && s.ip != from.ip:
		return dropOtherAddress
	case partner.ip == from.ip && partner.uses(from.port):
		return dropItself
	}
	s.ip = from.ip
	if n.restarted(s, now, in.PortType, from.port) {
		n.newRound(now, s, partner, e)
	}
	s.take(now, version, from.port, v, in)
	if s.next == never && n.phase == phasePaired && !s.acked {
		s.next = now // its packets earn it another connect
	}
	n.last = now
	n.advance(now, e)
	return ""
}

// uses tells whether the client has been seen at the port.
func (s *side) uses(port uint16) bool {
	for _, p := range s.ports {
		if p == port {
			return true
		}
	}
	return false
}

// take stores what an init says.
func (s *side) take(now time.Duration, version byte, port uint16, v via, in *Init) {
	if !s.present() {
		s.first = now
	}
	if t := in.PortType; t == PortNN1 && s.ports[t] != 0 && s.ports[t] != port {
		// Another socket: what the old one showed of the NAT is worth nothing.
		s.ports[PortNN2], s.ports[PortNN3] = 0, 0
		s.first = now
	}
	s.heard()
	s.last = now
	s.version, s.gamePort = version, in.GamePort
	s.ports[in.PortType], s.via[in.PortType] = port, v
	if in.Local.Addr().Is4() {
		local := endpointOf(in.Local)
		s.local.ip = local.ip
		if local.port != 0 { // only the later port types tell it
			s.local.port = local.port
		}
	}
}

// restarted tells whether an init belongs to a new attempt with the same cookie,
// and not to the one that has been answered.
func (n *negotiation) restarted(s *side, now time.Duration, t PortType, port uint16) bool {
	moved := s.ports[t] != 0 && s.ports[t] != port
	switch n.phase {
	case phaseRefused:
		return moved || !s.present()
	case phasePaired:
		return s.acked && (moved || now > s.ackedAt+reorderWindow)
	case phaseWaiting, phaseOver:
	}
	return false
}

// newRound begins again because of the client. Its partner has to start again
// too, as its old socket is of no use to a new one, unless it waits for its
// connect still.
func (n *negotiation) newRound(now time.Duration, s, partner *side, e *effects) {
	waits := n.phase == phasePaired && !partner.acked
	if n.phase == phasePaired {
		n.end(now, n.result(), e)
	}
	s.again()
	if waits {
		partner.tries, partner.next = 0, 0
	} else {
		partner.again()
	}
	n.phase, n.refusals, n.opened = phaseWaiting, 0, now
}

// ack takes the receipt of a connect. It returns whether it was one.
func (n *negotiation) ack(now time.Duration, from endpoint, index byte) bool {
	s := &n.sides[index]
	if n.phase != phasePaired || s.negotiating() != from {
		return false
	}
	s.heard()
	s.confirm(now)
	n.last = now
	return true
}

// report takes a client's report. It returns whether the report counts.
func (n *negotiation) report(now time.Duration, from endpoint, r *Report, e *effects) bool {
	s := &n.sides[r.Index]
	if n.phase != phasePaired || s.negotiating() != from {
		return false
	}
	s.confirm(now) // its receipt may have been lost
	s.report = reportFailure
	if r.Result == 1 {
		s.report = reportSuccess
	}
	s.reportedNAT = kindOfReport(r.nat())
	n.last = now
	if n.sides[0].report != reportNone && n.sides[1].report != reportNone {
		n.end(now, n.result(), e)
		n.phase = phaseOver
	}
	return true
}

func (s *side) confirm(now time.Duration) {
	if !s.acked {
		s.acked, s.ackedAt = true, now
	}
}

// advance does what the time asks for. It may be called at any time.
func (n *negotiation) advance(now time.Duration, e *effects) {
	switch n.phase {
	case phaseWaiting:
		n.wait(now, e)
	case phasePaired:
		for i := range n.sides {
			if s := &n.sides[i]; !s.acked && now >= s.next {
				n.connect(now, i, e)
			}
		}
		if now >= n.last+lingering {
			n.end(now, n.result(), e)
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

// wait looks whether the two can be introduced, or whether to give up.
func (n *negotiation) wait(now time.Duration, e *effects) {
	switch {
	case n.sides[0].ready(now) && n.sides[1].ready(now):
		n.phase, n.last, n.paired = phasePaired, now, now
		n.connect(now, 0, e)
		n.connect(now, 1, e)
	case now >= n.giveUpAt():
		n.end(now, n.result(), e)
		n.phase, n.last = phaseRefused, now
		n.refuse(e)
	}
}

// giveUpAt returns when waiting ends: when a client has stopped half-way, or
// when the one that is ready has waited long enough.
func (n *negotiation) giveUpAt() time.Duration {
	at := never
	both := n.sides[0].present() && n.sides[1].present()
	for i := range n.sides {
		switch s := &n.sides[i]; {
		case !s.present():
		case !s.needed():
			at = min(at, s.last+halfWayWait, s.first+partnerWait)
		case !both: // where both have come, the one that is not ready decides
			at = min(at, s.first+partnerWait)
		}
	}
	return at
}

// connect tells a client its partner's address, as far as the bounds allow it.
func (n *negotiation) connect(now time.Duration, i int, e *effects) {
	s := &n.sides[i]
	if !s.mayConnect() || now > n.paired+connectWindow {
		s.next = never
		return
	}
	n.sendConnect(s, Connect{remote(s, &n.sides[1-i], i).addrPort(), gotData, FinishedOK}, e)
	s.next = never
	if int(s.tries) <= len(connectGaps) {
		s.next = now + connectGaps[s.tries-1]
	}
}

// refuse tells the clients that have come that they will not be introduced. An
// address that may never have asked, because only one packet came, is told once.
func (n *negotiation) refuse(e *effects) {
	for i := range n.sides {
		s := &n.sides[i]
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
		at := n.giveUpAt()
		if n.sides[0].needed() && n.sides[1].needed() {
			at = min(at, max(n.sides[0].readyAt(), n.sides[1].readyAt()))
		}
		return at
	case phasePaired:
		at := n.last + lingering
		for i := range n.sides {
			if s := &n.sides[i]; !s.acked {
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
