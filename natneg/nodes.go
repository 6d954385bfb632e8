package natneg

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/wake"
)

// maxNodes is the maximum number of other nodes that have a number: via has room for
// no more.
const maxNodes = 1<<16/socketsPerNode - 1

// The pace at which packets are forwarded again after a change of nodes.
const (
	againAtOnce = 512
	againPause  = 5 * time.Millisecond
)

// nodes connects the nodes of a cluster. Each cookie belongs to one of them, which
// holds its negotiation. The others check packets and forward them; answers leave from
// the socket that the player knows. nil: this node is alone, and all is for it.
type nodes struct {
	bus     cluster.Bus
	server  *Server
	callers *callers
	ready   chan struct{} // has one token if a node has become ready

	mu      sync.RWMutex      // guards the fields below
	numbers map[string]uint16 // of other nodes
	names   []string          // of nodes, by number; that of 0, this node, is empty
}

func newNodes(s *Server, bus cluster.Bus) *nodes {
	if bus == nil {
		return nil
	}
	return &nodes{
		bus: bus, server: s, callers: newCallers(), ready: make(chan struct{}, 1),
		numbers: make(map[string]uint16), names: []string{""},
	}
}

func (r *nodes) owner(cookie uint32) string {
	return r.bus.Owner("natneg/" + strconv.FormatUint(uint64(cookie), 16))
}

func (r *nodes) mine(cookie uint32) bool { return r.owner(cookie) == r.bus.Self() }

// number returns the number of a node. ok is false if there are too many; numbers of
// nodes that are gone are then given to others.
func (r *nodes) number(node string) (n uint16, ok bool) {
	r.mu.RLock()
	n, ok = r.numbers[node]
	r.mu.RUnlock()
	if ok {
		return n, true
	}
	live := make(map[string]bool)
	for _, name := range r.bus.Nodes() {
		live[name] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok = r.numbers[node]; ok {
		return n, true
	}
	if len(r.names) <= maxNodes {
		r.names = append(r.names, node)
		r.numbers[node] = uint16(len(r.names) - 1)
		return r.numbers[node], true
	}
	for i, name := range r.names[1:] {
		if !live[name] {
			delete(r.numbers, name)
			r.names[i+1], r.numbers[node] = node, uint16(i+1)
			return uint16(i + 1), true
		}
	}
	return 0, false
}

func (r *nodes) name(number uint16) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names[number]
}

// outlet sends from a socket of another node. It implements netserve.PacketWriter.
type outlet struct {
	nodes  *nodes
	node   string
	socket uint16
}

// WritePacket implements netserve.PacketWriter.
func (o outlet) WritePacket(p []byte, from netip.Addr, to netip.AddrPort) error {
	out := order{socket: o.socket, to: endpointOf(to), data: p}
	if from.Is4() {
		out.ip = from.As4()
	}
	var buf [orderHead + maxAnswer]byte
	o.nodes.server.metrics.nodes.ordered.Inc()
	return o.nodes.bus.Send(o.node, subjectSend, out.appendTo(buf[:0]))
}

// writer returns the PacketWriter of a socket of another node.
func (r *nodes) writer(v via) netserve.PacketWriter {
	return outlet{r, r.name(v.node()), v.socket % socketsPerNode}
}

// forward passes a packet on to the node that its cookie belongs to.
func (r *nodes) forward(to string, f *forwarded) drop {
	var buf [forwardedHead + maxForwarded]byte
	if err := r.bus.Send(to, subjectPacket, f.appendTo(buf[:0])); err != nil {
		return dropNotForwarded
	}
	r.server.metrics.nodes.forwarded.Inc()
	return notDropped
}

// init takes an init that came to a socket of this node. here is true if the cookie
// belongs to this node, which has to take it then.
func (r *nodes) init(q *request, in *Init) (dropped drop, here bool) {
	if r == nil {
		return notDropped, true
	}
	owner := r.owner(q.Cookie)
	f := forwardedOf(q)
	if !r.callers.heard(q.Cookie, &f, in, owner, r.server.live.Load().MaxOpen, q.now) {
		return dropTooMany, false
	}
	if owner == r.bus.Self() {
		return notDropped, true
	}
	return r.forward(owner, &f), false
}

// pass passes on a receipt or a report that no negotiation here is for. alone is why a node that is
// alone drops it.
func (r *nodes) pass(q *request, alone drop) drop {
	if r == nil {
		return alone
	}
	owner := r.owner(q.Cookie)
	if owner == r.bus.Self() || !r.callers.count(q.Cookie, endpointOf(q.From), q.now) {
		return dropUnexpected
	}
	f := forwardedOf(q)
	return r.forward(owner, &f)
}

func forwardedOf(q *request) forwarded {
	return forwarded{from: endpointOf(q.From), ip: q.via().ip, socket: q.socket, data: q.Data}
}

// run handles messages of other nodes, and repeats packets that were forwarded to a node that left, until ctx ends.
func (r *nodes) run(ctx context.Context) {
	if r == nil {
		return
	}
	for _, cancel := range []func(){
		r.bus.Subscribe(subjectPacket, r.packet), r.bus.Subscribe(subjectSend, r.send), r.bus.Subscribe(subjectTest, r.test),
		r.bus.Subscribe(subjectReady, r.isReady), r.bus.Subscribe(subjectPairs, r.pairs),
	} {
		defer cancel()
	}
	// Others may have seen this node before it could take packets.
	if err := r.bus.Publish(subjectReady, []byte{nodeVersion}); err != nil {
		r.server.opt.Log.Debug().Err(err).Msg("the other nodes were not informed")
	}
	for {
		changed := r.bus.Changed()
		r.moved(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-r.ready:
		}
	}
}

// teach informs the other nodes of lessons: the next negotiation of the players may be
// on another node. nil: there are none.
func (r *nodes) teach(list []learnt) {
	if r == nil {
		return
	}
	for chunk := range slices.Chunk(list, maxLessons) {
		if err := r.bus.Publish(subjectPairs, appendLessons(nil, chunk)); err != nil {
			r.server.opt.Log.Debug().Err(err).Msg("the other nodes were not informed")
		}
	}
}

// pairs takes lessons of another node.
func (r *nodes) pairs(_ string, data []byte) {
	list, err := parseLessons(data)
	if err != nil {
		r.server.metrics.nodes.unread.Inc()
		return
	}
	r.server.learn(list)
}

// isReady repeats packets that were forwarded to a node before it took any.
func (r *nodes) isReady(from string, _ []byte) {
	r.callers.unsend(from)
	wake.Up(r.ready)
}

// packet takes a packet of a client of another node.
func (r *nodes) packet(from string, data []byte) {
	s := r.server
	f, err := parseForwarded(data)
	if err != nil || from == r.bus.Self() {
		s.metrics.nodes.unread.Inc()
		return
	}
	node, ok := r.number(from)
	if !ok {
		s.metrics.nodes.refused.Inc()
		return
	}
	s.metrics.nodes.taken.Inc()
	if reason := r.take(&f, node, outlet{r, from, f.socket}); reason != notDropped {
		s.opt.Metrics.Drop(reason.Error())
	}
}

// take hands a packet of a client to its negotiation here. The node that it reached has
// checked and counted it.
func (r *nodes) take(f *forwarded, node uint16, w netserve.PacketWriter) drop {
	s := r.server
	h, body, err := ParseHeader(f.data)
	switch from := f.from.addrPort(); {
	case err != nil:
		return dropForeign
	case !usable(from):
		return dropSource
	case s.opt.Banned.Has(from.Addr()):
		return dropBanned
	}
	q := request{
		Header: h, Packet: netserve.Packet{Data: f.data, From: f.from.addrPort(), To: localAddr(f.ip)}, body: body,
		socket: f.socket, node: node, again: f.again, w: w, now: time.Now(),
	}
	q.scratch = s.scratch.Get().(*scratch)
	defer s.scratch.Put(q.scratch)
	switch h.Type {
	case TypeInit:
		in, ok := ParseInit(h.Version, body)
		if !ok || in.PortType >= portTypes || in.Index >= maxIndexes {
			return dropMalformed
		}
		return s.admit(&q, &in)
	case TypeConnectAck:
		if a, ok := ParseAck(1, body); ok && a.Index < maxIndexes && s.takeReceipt(&q, a.Index) {
			return notDropped
		}
		return dropUnexpected
	case TypeTestAck:
		if t, ok := ParseTest(body); ok && s.takeTest(&q, &t) {
			return notDropped
		}
		return dropUnexpected
	case TypeReport:
		if rep, ok := ParseReport(body); ok && rep.Index < maxIndexes && s.settle(&q, &rep) {
			return notDropped
		}
		return dropUnexpected
	default:
		return dropUnknownType
	}
}

// send sends a packet to a client of this node on behalf of the node that has its
// negotiation: only to one that sent packets with the cookie, and not more than those
// pay for.
func (r *nodes) send(_ string, data []byte) {
	s := r.server
	o, err := parseOrder(data)
	if err != nil {
		s.metrics.nodes.unread.Inc()
		return
	}
	h, _, err := ParseHeader(o.data)
	s.mu.Lock()
	w, own := s.sockets.writer(o.socket), s.sockets.sender(o.socket, o.ip)
	s.mu.Unlock()
	switch {
	case err != nil || w == nil || h.Type != TypeInitAck && h.Type != TypeConnect && h.Type != TypeTest,
		!r.callers.pay(h.Cookie, o.to, time.Now()):
		s.metrics.nodes.refused.Inc()
		return
	}
	s.metrics.nodes.sent.Inc()
	if h.Type != TypeInitAck {
		s.metrics.sent(h.Type)
	}
	s.send.Send(w, o.data, own, o.to.addrPort())
}

// moved forwards the inits of negotiations whose node has changed to the new one, and
// drops those that began here and are another node's now.
func (r *nodes) moved(ctx context.Context) {
	r.server.dropMoved(r.mine)
	inits := r.callers.moved(r.owner)
	for i := range inits {
		if i%againAtOnce == againAtOnce-1 && !sleep(ctx, againPause) {
			return
		}
		a := &inits[i]
		a.again = true
		r.server.metrics.nodes.again.Inc()
		if a.owner != r.bus.Self() {
			r.forward(a.owner, &a.forwarded)
		} else if reason := r.take(&a.forwarded, 0, nil); reason != notDropped {
			r.server.opt.Metrics.Drop(reason.Error())
		}
	}
}

// sleep waits; false: ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// natnegNames are the names that lead to natneg servers: natneg1 to natneg3.
const natnegNames = 3

// tester returns a writer for the answer to NAT test 2, which has to come from natneg3,
// an address that the client never wrote to; nil unless this node is natneg1 and the
// node of natneg3 is there.
func (r *nodes) tester() netserve.PacketWriter {
	if r == nil {
		return nil
	}
	nodes := r.server.live.Load().Nodes
	if len(nodes) < natnegNames || nodes[0] != r.bus.Self() || nodes[2] == nodes[0] || nodes[2] == nodes[1] {
		return nil
	}
	for _, live := range r.bus.Nodes() {
		if live == nodes[2] {
			return testOutlet{r, live}
		}
	}
	return nil
}

// testOutlet sends from the main socket of another node. It implements
// netserve.PacketWriter.
type testOutlet struct {
	nodes *nodes
	node  string
}

// WritePacket implements netserve.PacketWriter.
func (o testOutlet) WritePacket(p []byte, _ netip.Addr, to netip.AddrPort) error {
	out := order{to: endpointOf(to), data: p}
	var buf [orderHead + maxAnswer]byte
	o.nodes.server.metrics.nodes.ordered.Inc()
	return o.nodes.bus.Send(o.node, subjectTest, out.appendTo(buf[:0]))
}

// test sends a NAT test for the node that has natneg1.
func (r *nodes) test(from string, data []byte) {
	s := r.server
	o, err := parseOrder(data)
	if err != nil {
		s.metrics.nodes.unread.Inc()
		return
	}
	h, body, err := ParseHeader(o.data)
	_, ok := ParseTest(body)
	nodes := s.live.Load().Nodes
	s.mu.Lock()
	w := s.sockets.writer(0)
	s.mu.Unlock()
	to := o.to.addrPort()
	switch {
	case err != nil, !ok, h.Type != TypeTest, h.Cookie != cookieNATTest, w == nil,
		len(nodes) < natnegNames || nodes[0] != from || nodes[2] != r.bus.Self(), !usable(to), s.opt.Banned.Has(to.Addr()),
		!s.live.Load().perAddr.Allow(to.Addr(), time.Now()) && !s.opt.Trusted.Has(to.Addr()):
		s.metrics.nodes.refused.Inc()
		return
	}
	s.metrics.nodes.sent.Inc()
	s.send.Send(w, o.data, netip.Addr{}, to)
}
