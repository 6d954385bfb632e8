package serverbrowse

import (
	"context"
	"hash/maphash"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/filterlog"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// Options configure a Server. All functions must be safe for concurrent use.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
	part.Listing

	Messenger master.Messenger // nil: messages to servers are dropped

	// Rooms returns the rooms of a game that are not in the catalogue; nil: none.
	// It is called at most ten times a second for each game, filter and set of
	// fields, and may block.
	Rooms func(game string) []games.Room
	// Waiting returns how many players are in the chat room of a group room; nil:
	// there is no chat.
	Waiting func(id uint32) int
}

// Server answers server browsers. It may serve several listeners one after the
// other: Serve must not run concurrently, because there is one goroutine for
// updates.
type Server struct {
	opt      Options
	gate     *netserve.Gate
	metrics  *metrics
	views    *views.Cache[viewKey, view, *view]
	builders builders
	repeats  repeats
	doubts   *doubts
	feed     *feed
	indexes  *views.Cache[string, nameIndex, *nameIndex] // names of players, by game
	searches *netserve.Limiter
	chunks   views.Chunks
	ignored  filterlog.Log
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, metrics: newMetrics(opt.Registerer), doubts: newDoubts()}
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	s.views = newViews(s.metrics)
	s.repeats.seed = maphash.MakeSeed()
	s.indexes, s.searches = newIndexes(), newSearchBudget()
	s.feed = newFeed(opt, s.view, s.metrics)
	return s
}

// Reload applies the live keys at once. Open connections stay.
func (s *Server) Reload(c *Config) { s.gate.SetLimits(c.Conns(s.opt.Trusted)) }

// Serve serves the connections of ln, and sends updates to those that requested
// them, until ctx ends. It returns when all its goroutines have ended, with nil
// unless ln failed. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.Go(func() error {
		defer cancel()
		return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
			Gate: s.gate, FirstByte: s.opt.FirstByte, Idle: 2 * s.opt.Idle, // the session's own deadline comes first
			Write: s.opt.Write, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
		})
	})
	if s.opt.Push {
		g.Go(func() error { s.feed.run(ctx); return nil })
	}
	g.Go(func() error { s.ignored.Run(ctx, s.opt.Log); return nil })
	return g.Wait()
}
