package q3master

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// serviceName is the name under which verdicts are noted.
const serviceName = "q3master"

// Options configure a Server. Registry and Games are required.
type Options struct {
	Config // its live keys are replaced by Reload

	Registry  *master.Registry
	Games     *games.Catalog
	Addresses *advertise.Table                          // which addresses browsers are given; nil: those of the list
	Banned    netserve.AddrSet                          // neither served nor listed
	Trusted   netserve.AddrSet                          // not bound per address
	Locate    func(netip.Addr) (country, region string) // nil: unknown
	Verdicts  *verdicts.Log                             // nil: none are noted

	Packets    netserve.PacketOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics
	Registerer prometheus.Registerer // nil: the metrics of this package are not registered
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	opt     Options
	live    atomic.Pointer[live] // never nil
	metrics *metrics
	out     netserve.Sender
	foreign *foreign.Notes
	lister  *lister

	mu    sync.Mutex // guards hosts; held while the list of servers is changed
	hosts hostTable
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{
		opt: opt, hosts: newHostTable(), lister: newLister(opt.Registry), foreign: foreign.NewNotes(opt.Verdicts, serviceName),
	}
	s.metrics = newMetrics(opt.Registerer, s.countHosts, s.countPending, s.lister.cached)
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.Reload(&opt.Config)
	return s
}

func (s *Server) countHosts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts.known)
}

func (s *Server) countPending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts.pending.Len()
}

// Serve takes packets from conn until ctx ends. conn stays open and belongs to
// the caller. Servers that the list has from before the start are asked at once.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn) error {
	g, ctx := errgroup.WithContext(ctx)
	asking := &greeting{list: s.adopt()}
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets) })
	g.Go(func() error { s.run(ctx, conn, asking); return nil })
	return g.Wait()
}

// run does what is due: questions to restored servers, expiry, comparison with the
// list.
func (s *Server) run(ctx context.Context, w netserve.PacketWriter, asking *greeting) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	asking.step(s, w, time.Now())
	checked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			asking.step(s, w, now)
			s.expire(w, now)
			if now.Sub(checked) >= checkEvery {
				checked = now
				s.check()
			}
		}
	}
}

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != notDropped {
		s.opt.Metrics.Drop(reason.String())
		s.explain(p, reason)
	}
}

// handle returns why the packet was dropped, if it was.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) drop {
	a := p.From.Addr()
	switch {
	case len(p.Data) > quake3.MaxPacket:
		return dropOversized
	case p.From.Port() == 0 || a.Zone() != "" || a.IsMulticast() || a.IsUnspecified():
		return dropForeign
	}
	kind, rest, ok := quake3.Cut(p.Data)
	if !ok {
		return dropForeign
	}
	now := time.Now()
	switch kind {
	case quake3.KindHeartbeat:
		return s.heartbeat(w, p, rest, now)
	case quake3.KindInfo:
		return s.info(p, rest, now)
	case quake3.KindGetServers:
		s.metrics.received.list.Inc()
		return s.request(w, p, rest, false, now)
	case quake3.KindGetServersExt:
		s.metrics.received.listExt.Inc()
		return s.request(w, p, rest, true, now)
	default:
		return dropUnknown
	}
}

// explain notes the reason for which a packet was dropped. The verdict on a listed
// server stays, since the packet may be forged.
func (s *Server) explain(p netserve.Packet, reason drop) {
	if reason == dropUnexpected || reason == dropNoBudget || s.known(p.From) {
		return
	}
	switch reason {
	case dropOversized:
		s.foreign.Note(p.From, verdicts.TooLong)
	case dropUnknown, dropForeign:
		if !s.foreign.Foreign(p.From, p.Data, foreign.Quake3) && reason == dropUnknown {
			s.foreign.Note(p.From, verdicts.NotUnderstood)
		}
	default:
		if v, ok := reason.verdict(); ok {
			s.note(p.From, "", v)
		}
	}
}

// Expired notes that the registry dropped a silent server. The owner of the
// registry calls it.
func (s *Server) Expired(srv *master.Server) { s.left(srv, verdicts.Expired) }

// Replaced notes that the registry dropped a server for a newcomer. The protocol
// cannot inform the server. The owner of the registry calls it.
func (s *Server) Replaced(srv *master.Server) { s.left(srv, verdicts.Replaced) }

func (s *Server) left(srv *master.Server, v verdicts.Verdict) {
	s.mu.Lock()
	s.hosts.remove(srv.Key.Source)
	s.mu.Unlock()
	s.note(srv.Key.Source, srv.Game, v)
}
