package theater

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Names under which verdicts on games and on players are noted.
const (
	name       = "theater"
	playerName = "theater sign-in"
)

// Times of the service.
const (
	tick    = time.Second
	forever = 10 * 365 * 24 * time.Hour // disables the idle limit of netserve: pings do its work
)

// Options configure a Server. Registry, Games, Attach and Lobby are required.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
	part.Listing

	Lobby *lobby.Lobby
	// Attach makes a player known who is signed in, so that a ban, a deletion or a new
	// password ends the session. It returns a function that undoes that.
	Attach  func(presence.Attached) (detach func())
	Players *verdicts.Log // verdicts on players; nil: none
	Cluster cluster.Bus   // connects this node to the others; nil: it is alone
}

// Server is the list of games.
type Server struct {
	opt     Options
	live    atomic.Pointer[Config] // never nil
	gate    *netserve.Gate
	metrics *metrics
	echoes  *netserve.Limiter
	out     netserve.Sender
	nodes   nodes

	mu      sync.Mutex // guards the fields below, and all sessions, games and seats
	players map[storage.ProfileID]*session
	games   []*game                  // by their numbers, those of other nodes too
	sources map[netip.AddrPort]*game // that have a record in the list of servers
	last    int                      // number of the newest game, if this node is alone
	abroad  map[uint64]*session      // with a part in a game of another node, by their tokens
	token   uint64                   // the last one
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{
		opt: opt, gate: netserve.NewGate(opt.Conns(opt.Trusted)), echoes: netserve.NewLimiter(netserve.LimiterOptions{Rate: echoRate, Burst: echoBurst}),
		players: make(map[storage.ProfileID]*session), sources: make(map[netip.AddrPort]*game), abroad: make(map[uint64]*session),
	}
	s.metrics = newMetrics(opt.Registerer, s.count)
	s.out = netserve.Sender{Log: opt.Log, Errors: s.metrics.writeErrors}
	s.live.Store(&s.opt.Config)
	s.nodes = newNodes(s)
	return s
}

// count returns the number of games of this node.
func (s *Server) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.games {
		if g.node == "" {
			n++
		}
	}
	return n
}

// Reload applies the live keys. Open connections and games stay.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
}

// Serve serves the connections of ln and the datagrams of conn until ctx ends. It closes ln.
func (s *Server) Serve(ctx context.Context, conn *netserve.PacketConn, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return netserve.ServePackets(ctx, conn, s, s.opt.Packets(1)) })
	g.Go(func() error { return s.serveConns(ctx, ln) })
	return g.Wait()
}

// serveConns serves connections, shares games with other nodes, and does what is due from time to time.
func (s *Server) serveConns(ctx context.Context, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for now := range clock.Ticks(ctx, tick) {
			s.step(now)
		}
		return nil
	})
	g.Go(func() error { return s.follow(ctx) })
	g.Go(func() error {
		return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
			Gate: s.gate, Idle: forever, Write: s.opt.Write, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
		})
	})
	return g.Wait()
}

// refused notes that a connection is refused. A game would understand nothing before its CONN.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	s.opt.Players.NoteRefused(playerName, peer.Addr(), why)
	return nil
}

// step asks players for signs of life, ends silent ones, and ends joins whose time is over.
func (s *Server) step(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.players {
		switch {
		case !now.Before(x.heard.Add(silentPings * s.opt.Ping)):
			x.kick(endedSilent)
		case !now.Before(x.pinged.Add(s.opt.Ping)):
			x.pinged = now
			x.send(pingHeader, lines("TID", "0"))
			if g := x.hosts; g != nil && !s.opt.Registry.Touch(keyOf(g.source), Origin, now) {
				s.publish(g, now)
			}
		}
	}
	for _, g := range s.games {
		if g.node == "" {
			s.expire(g, now)
		}
	}
	for _, x := range s.abroad {
		if x.away.overdue(now) {
			x.away.deserted()
		}
	}
}

// leave ends what a session has here: its game, and its part in another one.
func (s *Server) leave(x *session) {
	if x.detach != nil {
		x.detach()
		x.detach = nil
	}
	if x.hosts != nil {
		s.end(x.hosts)
	}
	x.abandon()
	if s.players[x.player.Profile] == x {
		delete(s.players, x.player.Profile)
		s.metrics.players.Dec()
	}
}

// gone notes that the list of servers has dropped a record. The owner of the list calls it.
func (s *Server) gone(v verdicts.Verdict) func(*master.Server) {
	return func(srv *master.Server) {
		s.mu.Lock()
		if g := s.sources[srv.Key.Source]; g != nil {
			delete(s.sources, srv.Key.Source)
			g.source = netip.AddrPort{}
			s.share(g)
		}
		s.mu.Unlock()
		s.opt.Verdicts.Note(name, srv.Key.Source, srv.Game, v)
	}
}
