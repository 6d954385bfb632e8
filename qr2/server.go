package qr2

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "qr2"

// Options configure a Server. Registry and Games are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // Trusted are not bound by Config.UnprovedRate; with a game that has no proof, they need none
	part.Listing

	Guests *netserve.Guests // protocols of other services at this port; nil: none
}

// live is a Config that is in force. It is not changed.
type live struct {
	*Config
	// unproved limits the packets from unproved addresses, except heartbeats
	// that are as long as their answers.
	unproved *netserve.Limiter
}

// Reload applies the live keys from the next packet on.
func (s *Server) Reload(c *Config) {
	s.live.Store(&live{c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst})})
}

// allow takes one packet from the allowance of an address that has proved nothing.
func (s *Server) allow(a netip.Addr, now time.Time) bool {
	return s.live.Load().unproved.Allow(a, now) || s.opt.Trusted.Has(a)
}

// Server is the intake. It implements netserve.PacketHandler and
// master.Messenger.
type Server struct {
	opt     Options
	list    *master.Registry
	live    atomic.Pointer[live] // never nil
	source  *master.Source
	texts   sync.Pool // of *[]byte, for reports without the rule statechanged
	replies sync.Pool // of *[replyHeader]byte
	metrics *metrics
	out     netserve.Sender
	foreign *foreign.Notes
	conn    netserve.PacketWriter
	clock   atomic.Pointer[time.Time] // the last tick; nil while Serve does not run
	text    *textIntake
	beacon  *beacon

	mu       sync.Mutex // guards the fields below
	pending  pendingTable
	messages messageTable
	probes   probeQueue
	vantages []vantage
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt:      opt,
		list:     opt.Registry,
		metrics:  newMetrics(opt.Registerer),
		pending:  newPendingTable(),
		foreign:  foreign.NewNotes(opt.Verdicts, serviceName),
		messages: newMessageTable(),
		probes:   newProbeQueue(),
	}
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.Reload(&opt.Config)
	s.source = opt.Registry.NewSource(newDecoder(opt.Registry))
	s.texts.New = func() any { return new([]byte) }
	s.text, s.beacon = newTextIntake(s), newBeacon(s)
	s.replies.New = func() any { return new([replyHeader]byte) }
	return s
}

// tickEvery is the interval at which challenges, messages and probes are
// checked.
const tickEvery = 100 * time.Millisecond

// Serve takes packets from conn until ctx ends. probe is a second socket, on
// any port, from which reachability is probed; nil: hosts are not probed. far are
// sockets that probe too, each bound to another address than conn. All stay open
// and belong to the caller.
func (s *Server) Serve(ctx context.Context, conn, probe *netserve.PacketConn, far ...*netserve.PacketConn) error {
	s.use(conn, far)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(s.opt.Readers)) })
	if probe != nil {
		g.Go(func() error { return netserve.ServePackets(ctx, probe, probeHandler{s: s}, s.opt.Packets(1)) })
		for _, c := range far {
			g.Go(func() error {
				return netserve.ServePackets(ctx, c, probeHandler{s, c.LocalAddr().Addr()}, s.opt.Packets(1))
			})
		}
	}
	g.Go(func() error { s.tick(ctx, conn, probe); return nil })
	g.Go(func() error { s.beacon.run(ctx, conn, conn.LocalAddr().Port()); return nil })
	return g.Wait()
}

// use has packets sent from conn, and from far to probe hosts.
func (s *Server) use(conn *netserve.PacketConn, far []*netserve.PacketConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.vantages = conn, nil
	for _, c := range far {
		s.vantages = append(s.vantages, vantage{c.LocalAddr().Addr(), c})
	}
}

// tick repeats unanswered packets.
func (s *Server) tick(ctx context.Context, conn, probe *netserve.PacketConn) {
	begin := time.Now()
	s.clock.Store(&begin)
	defer s.clock.Store(nil)
	for now := range clock.Ticks(ctx, tickEvery) {
		s.clock.Store(&now)
		s.repeatChallenges(conn, now)
		s.repeatMessages(conn, now)
		if probe != nil {
			s.probe(probe, now)
			s.text.tick(conn, probe, now)
		} else {
			s.text.tick(conn, nil, now)
		}
	}
}

// Expired notes that the registry dropped a silent server. The owner of the
// registry calls it.
func (s *Server) Expired(srv *master.Server) {
	s.note(srv.Key.Source, srv.Game, verdicts.Expired)
	s.mu.Lock()
	s.messages.forget(srv.Key)
	s.mu.Unlock()
}

// Replaced informs a host that the registry dropped it for a newcomer. The
// owner of the registry calls it. The address of the host is proved, so the
// text may be longer than its last packet.
func (s *Server) Replaced(srv *master.Server) {
	s.note(srv.Key.Source, srv.Game, verdicts.Replaced)
	s.mu.Lock()
	s.messages.forget(srv.Key)
	w := s.conn
	s.mu.Unlock()
	if w != nil {
		s.refuse(w, netserve.Packet{From: srv.Key.Source, To: srv.Via}, srv.Key.Instance, textReplaced)
	}
}
