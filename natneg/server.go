package natneg

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
)

// Options configure a Server. All but Config is optional.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // Banned are ignored

	// Games names the games for metrics and log; nil: all are "other".
	Games *games.Catalog

	// Given returns the IPv4 address that a player gets for a partner with a
	// loopback or private address; nil: that address.
	Given func(player, partner netip.Addr) netip.Addr

	// Addresses returns the IPv4 addresses of this machine from which packets
	// may be sent. It is called at the start of Serve and once a minute, if
	// Sockets.Main is on all addresses; nil: only
	// the addresses of the sockets are known.
	Addresses func() []netip.Addr

	// Met, if not nil, is called with the public address of each client that
	// reached its partner, according to a report. It must not block.
	Met func(netip.AddrPort)

	// Relay relays players who cannot connect; nil: there is none.
	Relay service.Relay

	// Meetings counts the outcomes of pairs; nil: none are counted.
	Meetings *meeting.Recorder

	// Cluster connects the nodes whose clients can negotiate with each other; nil:
	// this server is alone.
	Cluster cluster.Bus
}

// Sockets are the sockets of a Server. They stay open and belong to the caller.
type Sockets struct {
	// Main is natneg1, and also natneg2 and natneg3 if there are no extra
	// sockets. It is required.
	Main *netserve.PacketConn
	// Second is on the same address as Main, or on all, and on any other port.
	// NAT test 3 is answered from it; nil: the test is not answered.
	Second *netserve.PacketConn
	// Extra are further addresses, natneg2 and natneg3 first; at most MaxExtra.
	Extra []*netserve.PacketConn
}

// MaxExtra is the most extra sockets that Serve takes.
const MaxExtra = 256

// ErrTooManySockets is returned by Serve for more than MaxExtra extra sockets.
var ErrTooManySockets = errors.New("more than 256 extra sockets")

// Server introduces clients to each other. It implements
// netserve.PacketHandler.
type Server struct {
	opt      Options
	live     atomic.Pointer[live] // never nil
	metrics  *metrics
	send     netserve.Sender
	longAcks *rate.Limiter
	journal  journal
	unread   *foreign.Notes
	seed     maphash.Seed
	start    time.Time // the times of the table count from here
	scratch  sync.Pool // of *scratch
	nodes    *nodes    // nil: this node is alone
	wishes   wishes

	mu     sync.Mutex // guards the fields below
	table  *table
	memory memory
	vantage
	farTests   farTests
	saidUntold string
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt:      opt,
		longAcks: rate.NewLimiter(longAckRate, longAckBurst),
		journal:  newJournal(opt.Log),
		unread:   foreign.NewNotes(opt.Verdicts, name),
		seed:     maphash.MakeSeed(),
		start:    time.Now(),
		table:    newTable(),
		memory:   newMemory(),
		vantage:  vantage{sockets: &openSockets{}},
		farTests: farTests{known: make(map[netip.AddrPort]*farTest)},
	}
	s.wishes = newWishes(s)
	s.scratch.New = func() any { return &scratch{effects: s.newEffects()} }
	s.metrics = newMetrics(opt.Registerer, s.open, opt.Meetings.Known)
	s.send = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.nodes = newNodes(s, opt.Cluster)
	s.Reload(&opt.Config)
	return s
}

// live is a Config that is in force. It is not changed.
type live struct {
	*Config
	perAddr *netserve.Limiter // packets
}

// Reload applies the live keys from the next packet on.
func (s *Server) Reload(c *Config) {
	s.live.Store(&live{c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst})})
}

// open returns the number of open cookies.
func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.count
}

// Serve takes packets from the sockets until ctx ends; it then returns nil. It
// may be called once.
func (s *Server) Serve(ctx context.Context, sockets Sockets) error {
	if len(sockets.Extra) > MaxExtra {
		return ErrTooManySockets
	}
	d := newOpenSockets(sockets)
	s.mu.Lock()
	s.sockets = d
	s.mu.Unlock()
	s.lookAtAddresses()

	g, ctx := errgroup.WithContext(ctx)
	for i, conn := range append([]*netserve.PacketConn{sockets.Main}, sockets.Extra...) {
		g.Go(func() error { return netserve.ServePackets(ctx, conn, socketHandler{s, uint16(i)}, s.opt.Packets(1)) })
	}
	if sockets.Second != nil {
		g.Go(func() error { return netserve.ServePackets(ctx, sockets.Second, secondHandler{s}, s.opt.Packets(1)) })
	}
	g.Go(func() error { s.turn(ctx); return nil })
	g.Go(func() error { s.nodes.run(ctx); return nil })
	if s.opt.Relay != nil {
		g.Go(func() error { s.wishes.serve(ctx); return nil })
	}
	return g.Wait()
}

// addressesEvery is the interval at which Options.Addresses is called.
const addressesEvery = time.Minute

// lookAtAddresses learns the addresses of this machine.
func (s *Server) lookAtAddresses() {
	s.mu.Lock()
	all := s.sockets.open[0].addr.Addr().IsUnspecified()
	s.mu.Unlock()
	if s.opt.Addresses != nil && all {
		machine := s.opt.Addresses()
		s.mu.Lock()
		s.machine = machine
		s.mu.Unlock()
	}
	s.sayUntold()
}

// newEffects returns empty effects.
func (s *Server) newEffects() effects {
	e := effects{given: s.opt.Given, relay: s.wantsRelay}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets.second.w != nil {
		e.nonce = newNonce
	}
	return e
}

// newNonce returns a secret for the tests of a client.
func newNonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return binary.BigEndian.Uint64(b[:])
}

// turn lets time pass for the table, and follows the addresses of this machine.
func (s *Server) turn(ctx context.Context) {
	t, addresses := time.NewTicker(wheelStep), time.NewTicker(addressesEvery)
	defer t.Stop()
	defer addresses.Stop()
	e := s.newEffects()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			s.advance(now, &e)
		case now := <-addresses.C:
			s.lookAtAddresses()
			s.forgetFarTests(now)
		}
	}
}

// advance performs the work that is due. e is reused memory.
func (s *Server) advance(now time.Time, e *effects) {
	e.reset()
	s.carryOut(s.due(now, e), e, nil)
}

// due collects the effects that are due, and returns our sockets.
func (s *Server) due(now time.Time, e *effects) *openSockets {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.advance(now.Sub(s.start), e)
	return s.sockets
}

// dropMoved drops the negotiations without partners that are not for this node, without
// a refusal: the node that they belong to gets the inits again. Others stay to their
// end.
func (s *Server) dropMoved(mine func(cookie uint32) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.table.waiting.oldest
	for n != nil {
		next := n.place.newer
		if n.phase == phaseWaiting && !mine(n.cookie) {
			s.table.remove(n)
			s.metrics.nodes.moved.Inc()
		}
		n = next
	}
}

// carryOut executes the effects of an event. Packets from the socket of the
// request itself need no openSocket.
func (s *Server) carryOut(d *openSockets, e *effects, r *request) {
	for i := range e.sends {
		p := &e.sends[i]
		var w netserve.PacketWriter
		from := localAddr(p.via.ip)
		switch {
		case p.via.node() != 0:
			w = s.nodes.writer(p.via)
		default:
			w, from = d.writer(p.via.socket), d.sender(p.via.socket, p.via.ip)
			if w == nil && r != nil && r.node == 0 && r.socket == p.via.socket {
				w = r.w
			}
		}
		if w != nil {
			s.send.Send(w, p.data[:p.size], from, p.to.addrPort())
		}
		s.metrics.sent(Type(p.data[typeAt]))
	}
	if len(e.learnt) > 0 {
		s.learn(e.learnt)
		s.nodes.teach(e.learnt)
	}
	for i := range e.wishes {
		s.wishes.ask(&e.wishes[i])
	}
	for i := range e.ended {
		s.metrics.note(&e.ended[i])
		s.journal.note(&e.ended[i])
		s.tell(&e.ended[i])
	}
}

// localAddr turns the address of a via back into one for a PacketWriter.
func localAddr(ip [4]byte) netip.Addr {
	if ip == [4]byte{} {
		return netip.Addr{}
	}
	return netip.AddrFrom4(ip)
}

type socketHandler struct {
	s      *Server
	socket uint16
}

// ServePacket implements netserve.PacketHandler.
func (h socketHandler) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	h.s.serve(h.socket, w, p)
}

// secondHandler handles the packets of the second socket: address checks, which show
// whether a client is seen at the same port there, and the receipts of tests. Nothing else
// should arrive.
type secondHandler struct{ s *Server }

// secondSocket is the number of the second socket in requests.
const secondSocket = socketsPerNode - 1

// ServePacket implements netserve.PacketHandler.
func (h secondHandler) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if head, _, err := ParseHeader(p.Data); err != nil || head.Type != TypeAddressCheck && head.Type != TypeTestAck {
		h.s.opt.Metrics.Drop(dropUnexpected.Error())
		return
	}
	h.s.serve(secondSocket, w, p)
}
