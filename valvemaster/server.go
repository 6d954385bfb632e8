package valvemaster

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
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const serviceName = "valvemaster"

// Targets asks game servers over A2S. Its methods are called from packet
// handlers: they touch memory only, and do not call back.
type Targets interface {
	// Watch queries a server regularly and lists it from its first answer on,
	// with origin Origin; it notes the verdicts. A repeated call
	// renews the watch. It returns false if there is no room for the server, or
	// if its address is never queried.
	Watch(a netip.AddrPort) bool
	// Answers reports whether a server that is watched answered the last time. If
	// it is not in the list all the same, Targets noted why.
	Answers(a netip.AddrPort) bool
	// Unwatch ends the watch; a server that is not watched for another reason
	// leaves the list.
	Unwatch(a netip.AddrPort)
}

// Options configure a Server. Registry and Targets are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // the first page of Trusted is a full one
	part.Listing

	Targets Targets
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	opt      Options
	list     *master.Registry
	start    time.Time
	live     atomic.Pointer[live] // never nil
	metrics  *metrics
	send     netserve.Sender
	foreign  *foreign.Notes
	tokens   tokens
	walks    *walks
	lister   *lister
	trials   *lister // for self-tests
	work     *allowance
	requests sync.Pool // of *request

	mu    sync.Mutex // guards hosts
	hosts uplink.Hosts[*host]
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt:     opt,
		list:    opt.Registry,
		start:   time.Now(),
		tokens:  newTokens(),
		walks:   newWalks(maxWalks),
		work:    newAllowance(workPerSecond),
		foreign: foreign.NewNotes(opt.Verdicts, serviceName),
		hosts:   uplink.NewHosts[*host](),
	}
	s.requests.New = func() any { return new(request) }
	s.lister = newLister(opt.Registry, s.regionOf)
	s.trials = newLister(opt.Registry.Trials(), s.regionOf)
	s.metrics = newMetrics(opt.Registerer, s.countHosts, s.walks.len)
	s.send = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.Reload(&opt.Config)
	return s
}

// tickEvery is the interval of the checks for silent and for listed servers.
const tickEvery = 2 * time.Second

// Serve takes packets from conn until ctx ends. conn stays open and belongs to
// the caller. Servers of origin valve that the registry has from before the
// start are watched again at once.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	s.adopt(time.Now())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(s.opt.Readers)) })
	g.Go(func() error {
		for now := range clock.Ticks(ctx, tickEvery) {
			s.tick(now)
		}
		return nil
	})
	return g.Wait()
}

// tick performs expiry and verdicts that are due.
func (s *Server) tick(now time.Time) {
	s.walks.expire(s.since(now))
	s.look(s.since(now))
}

// maxPacket is the size of the largest datagram that is looked at.
const maxPacket = 1500

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != uplink.NotDropped {
		s.opt.Metrics.Drop(reason.Error())
		s.explain(p, reason)
	}
}

// explain notes the reason for which a packet was dropped if it has no verdict
// yet; otherwise the operator would look for a network problem. The verdict on
// a listed server stays, since the packet may be forged, unless its reports are too
// long.
func (s *Server) explain(p netserve.Packet, reason uplink.Drop) {
	switch reason {
	case uplink.Oversized:
		s.foreign.Note(p.From, verdicts.TooLong)
		return
	case uplink.UnknownKind, uplink.Malformed:
	default:
		return
	}
	if _, known := s.taken(p.From); known {
		return
	}
	switch {
	case s.foreign.Foreign(p.From, p.Data, foreign.Valve):
	case reason == uplink.UnknownKind || !isHeartbeat(p.Data): // those have a verdict
		s.foreign.Note(p.From, verdicts.NotUnderstood)
	}
}

func isHeartbeat(packet []byte) bool {
	kind, _, ok := ParseKind(packet)
	return ok && kind == KindHeartbeat
}

// handle returns why the packet was dropped.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped uplink.Drop) {
	switch {
	case len(p.Data) == 0:
		return uplink.Empty
	case len(p.Data) > maxPacket:
		return uplink.Oversized
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return uplink.Foreign
	}
	kind, body, ok := ParseKind(p.Data)
	if !ok {
		return uplink.Empty
	}
	now := time.Now()
	switch kind {
	case KindChallengeRequest:
		s.metrics.received.challenge.Inc()
		return s.challenge(w, p, body, now)
	case KindHeartbeat:
		s.metrics.received.heartbeat.Inc()
		return s.heartbeat(p, body, now)
	case KindGoodbye:
		s.metrics.received.goodbye.Inc()
		return s.goodbye(p, body, now)
	case KindListRequest:
		s.metrics.received.list.Inc()
		return s.listRequest(w, p, body, now)
	default:
		return uplink.UnknownKind
	}
}

// since is the time on the clock of this package, which setting the system's
// clock does not move.
func (s *Server) since(now time.Time) time.Duration { return now.Sub(s.start) }

// reply answers a packet from the address that it was sent to.
func (s *Server) reply(w netserve.PacketWriter, p netserve.Packet, b []byte) {
	s.send.Send(w, b, p.To, p.From)
}
