package natneg

import (
	"errors"
	"hash/maphash"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/netserve"
)

// ServePacket handles one datagram that came to the main socket. It touches
// memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) { s.serve(0, w, p) }

func (s *Server) serve(socket uint16, w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(socket, w, p); reason != notDropped {
		s.opt.Metrics.Drop(reason.Error())
		if v, ok := reason.Verdict(); ok {
			s.unread.Player(p.From.Addr(), v)
		}
	}
}

// request is a packet from a client, with the data for its answer.
type request struct {
	Header
	netserve.Packet
	body    []byte
	socket  uint16
	node    uint16 // that it reached; 0: this one
	again   bool   // it was taken by a node that left, and is not confirmed
	w       netserve.PacketWriter
	now     time.Time
	scratch *scratch
}

// scratch is memory for the answers to one packet.
type scratch struct {
	effects effects
	answer  [maxAnswer]byte
}

// reply begins an answer of a type.
func (r *request) reply(t Type) []byte {
	return Header{r.Version, t, r.Cookie}.AppendTo(r.scratch.answer[:0])
}

// via returns where the request came in.
func (r *request) via() via {
	v := via{socket: socketOf(r.node, r.socket)}
	if r.To.Is4() {
		v.ip = r.To.As4()
	}
	return v
}

// handle returns why the packet was dropped.
func (s *Server) handle(socket uint16, w netserve.PacketWriter, p netserve.Packet) (dropped drop) {
	h, body, err := ParseHeader(p.Data)
	switch {
	case errors.Is(err, ErrShort):
		return dropShort
	case errors.Is(err, ErrVersion):
		return dropVersion
	case err != nil:
		return dropForeign
	case !usable(p.From):
		return dropSource
	case s.opt.Banned.Has(p.From.Addr()):
		return dropBanned
	}
	r := request{Header: h, Packet: p, body: body, socket: socket, w: w, now: time.Now()}
	if a := p.From.Addr(); !s.live.Load().perAddr.Allow(a, r.now) && !s.opt.Trusted.Has(a) {
		return dropLimited
	}
	r.scratch = s.scratch.Get().(*scratch)
	defer s.scratch.Put(r.scratch)
	switch h.Type {
	case TypeInit:
		return s.init(&r)
	case TypeConnectAck:
		return s.connectAck(&r)
	case TypeReport:
		return s.report(&r)
	case TypeTestAck:
		return s.testAck(&r)
	case TypeAddressCheck:
		return s.addressCheck(&r)
	case TypeNATTest:
		return s.natTest(&r)
	case TypeQueue:
		return s.queue(&r)
	case TypeStateUpdate, TypePing, TypeBackupTest, TypeBackupAck:
		return dropUnused
	case TypeInitAck, TypeTest, TypeConnect, TypeAddressReply, TypeReportAck, TypeQueueAck:
		return dropOurs
	default:
		return dropUnknownType
	}
}

// init confirms every init, and passes it to its negotiation. A receipt reveals
// nothing, not even that the cookie is known.
func (s *Server) init(r *request) drop {
	in, ok := ParseInit(r.Version, r.body)
	switch {
	case !ok || in.PortType >= portTypes:
		return dropMalformed
	case in.Index >= maxIndexes:
		return dropIndex
	}
	s.metrics.received.init.Inc()
	if dropped, here := s.nodes.init(r, &in); !here {
		return dropped
	}
	return s.admit(r, &in)
}

// admit passes an init to its negotiation, which is on this node, and confirms it.
func (s *Server) admit(r *request, in *Init) drop {
	dropped, ours := s.take(r, in)
	if ours == nil {
		return dropped
	}
	if r.again {
		s.carryOut(ours, &r.scratch.effects, r)
		return dropped
	}
	ack := Ack{PortType: in.PortType, Index: in.Index, Rest: [7]byte{boolByte(in.GamePort)}}
	s.answer(r, ack.AppendTo(r.reply(TypeInitAck), r.ackVersion(s.longAcks)))
	s.carryOut(ours, &r.scratch.effects, r)
	return dropped
}

// Receipts that are longer than the init they answer, in all: clients of version 1
// take none of another length than that of the later versions, which is six bytes
// more than their inits have.
const (
	longAckRate  = 100 // per second
	longAckBurst = 200
	longAckMore  = longBody - shortBody // bytes
)

// ackVersion returns the version of which the receipt of an init has the length.
func (r *request) ackVersion(long *rate.Limiter) byte {
	if r.Version == 1 && long.AllowN(r.now, 1) {
		return 2
	}
	return r.Version
}

// take passes an init to its negotiation. It returns the reason if the init was
// ignored, and our sockets, or nil if there is no room for it and it is not
// confirmed.
func (s *Server) take(r *request, in *Init) (dropped drop, ours *openSockets) {
	c := call{version: r.Version, name: nameHash(s.seed, in.Game), from: endpointOf(r.From), via: r.via(), in: in}
	e := &r.scratch.effects
	e.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.table.find(r.Cookie, &c)
	if n == nil {
		if n, dropped = s.begin(r, in); n == nil {
			return dropped, nil
		}
	}
	dropped = n.init(r.now.Sub(s.start), &c, e)
	s.table.changed(n)
	return dropped, s.sockets
}

// begin opens a negotiation. s.mu is held.
func (s *Server) begin(r *request, in *Init) (n *negotiation, refused drop) {
	live := s.live.Load()
	from := r.From.Addr().As4()
	evicted := s.table.evicted
	if refused = s.table.mayOpen(r.Cookie, from, live.MaxOpen, live.MaxPerAddr); refused != notDropped {
		return nil, refused
	}
	s.metrics.evicted.Add(float64(s.table.evicted - evicted))
	n = &negotiation{cookie: r.Cookie, opened: r.now.Sub(s.start)}
	if s.opt.Games != nil {
		if g, ok := s.opt.Games.LookupBytes(in.Game); ok {
			n.game = g.Name
		}
	}
	s.table.open(n, from)
	return n, notDropped
}

// maxName is how much of a game name counts, in bytes.
const maxName = 64

// nameHash returns a keyed hash of a game name, in which case does not count.
func nameHash(seed maphash.Seed, name []byte) uint64 {
	var lower [maxName]byte
	return maphash.Bytes(seed, ascii.AppendLower(lower[:0], name[:min(len(name), maxName)]))
}

// connectAck takes the receipt of a connect.
func (s *Server) connectAck(r *request) drop {
	a, ok := ParseAck(1, r.body) // the rest is rubbish in every version
	switch {
	case !ok:
		return dropMalformed
	case a.Index >= maxIndexes:
		return dropIndex
	}
	s.metrics.received.connectAck.Inc()
	if s.takeReceipt(r, a.Index) {
		return notDropped
	}
	return s.nodes.pass(r, dropUnexpected)
}

// takeReceipt passes the receipt of a connect to its negotiation. It returns whether
// there is one here.
func (s *Server) takeReceipt(r *request, index byte) bool {
	from := endpointOf(r.From)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.table.findClient(r.Cookie, index, from)
	if n == nil || !n.ack(r.now.Sub(s.start), from, index) {
		return false
	}
	s.table.changed(n)
	return true
}

// testAck takes the receipt of a test of a router. Clients do not send those of the tests that
// they asked for, except some consoles, which are ignored.
func (s *Server) testAck(r *request) drop {
	t, ok := ParseTest(r.body)
	if !ok {
		return dropMalformed
	}
	switch {
	case s.takeTest(r, &t):
		s.metrics.received.testAck.Inc()
		return notDropped
	case r.Cookie == cookieNATTest:
		return dropUnused
	}
	return s.nodes.pass(r, dropUnused)
}

// takeTest passes the receipt of a test to its negotiation. It returns whether there is
// one here.
func (s *Server) takeTest(r *request, t *Test) bool {
	e := &r.scratch.effects
	e.reset()
	ours := s.findTested(r, t, e)
	if ours != nil {
		s.carryOut(ours, e, r)
	}
	return ours != nil
}

func (s *Server) findTested(r *request, t *Test, e *effects) *openSockets {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := s.table.byCookie[r.Cookie]; n != nil; n = n.place.same {
		if n.tested(r.now.Sub(s.start), t, e) {
			s.table.changed(n)
			return s.sockets
		}
	}
	return nil
}

// report confirms every report: clients wait for that before they report the
// result to the game.
func (s *Server) report(r *request) drop {
	rep, ok := ParseReport(r.body)
	if !ok {
		return dropMalformed
	}
	s.metrics.received.report.Inc()
	dropped := s.takeUp(r, &rep)
	ack := ReportAck(r.body[:longBody])
	ack[2] = 0                                        // the result
	s.answer(r, ack.AppendTo(r.reply(TypeReportAck))) // now, as players may try again at once
	return dropped
}

// takeUp hands a report to its negotiation, here or at another node.
func (s *Server) takeUp(r *request, rep *Report) drop {
	switch {
	case rep.Index >= maxIndexes:
		return dropIndex
	case s.settle(r, rep):
		return notDropped
	default:
		return s.nodes.pass(r, dropUnexpected)
	}
}

// settle hands a report to its negotiation and notes the outcome. It returns whether
// there is one here.
func (s *Server) settle(r *request, rep *Report) bool {
	known := s.takeReport(r, rep)
	s.carryOut(&openSockets{}, &r.scratch.effects, r)
	return known
}

// takeReport hands a report to its negotiation. It returns whether there is one.
func (s *Server) takeReport(r *request, rep *Report) bool {
	from := endpointOf(r.From)
	e := &r.scratch.effects
	e.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.table.findClient(r.Cookie, rep.Index, from)
	if n == nil || !n.report(r.now.Sub(s.start), from, rep, e) {
		return false
	}
	s.table.changed(n)
	return true
}

// queue lets a client continue that waits to be queued for a busy host.
func (s *Server) queue(r *request) drop {
	q, ok := ParseQueue(r.body)
	if !ok {
		return dropMalformed
	}
	s.metrics.received.queue.Inc()
	q.State = queueReady
	s.answer(r, q.AppendTo(r.reply(TypeQueueAck)))
	return notDropped
}

// answer sends a packet to where the request came from, from where it came to.
func (s *Server) answer(r *request, b []byte) { s.send.Send(r.w, b, r.To, r.From) }
