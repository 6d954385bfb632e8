package serverbrowse

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/filterlog"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// Defaults of Options.
const (
	DefaultKeepAlive    = 30 * time.Second
	DefaultMessageRate  = 2.0
	DefaultMessageBurst = 20
)

// Games finds games by name; *games.Catalog is one.
type Games interface {
	Lookup(name string) (games.Game, bool)
}

// Options are what the service needs and how it behaves. All functions may be
// called from many goroutines at once.
type Options struct {
	Registry  *master.Registry // required
	Games     Games            // required
	Messenger master.Messenger // nil: messages to servers are dropped
	Addresses *advertise.Table // which addresses browsers are given; nil: those of the list

	// Rooms returns the rooms of a game that are not in the catalogue; nil: none.
	// It is asked at most ten times a second for each game, filter and set of
	// fields, and may block.
	Rooms func(game string) []games.Room
	// Waiting returns how many people are in a room; nil: nobody.
	Waiting func(room uint32) int
	// Banned tells which addresses are not served; nil: none.
	Banned func(netip.Addr) bool
	// Verdicts is told how requests for lists ended; nil: nobody.
	Verdicts *verdicts.Log

	LenientFilter bool          // ignore a filter with a mistake, in place of refusing it
	MaxFilter     int           // bytes; 0 or too large: filter.MaxLength
	KeepAlive     time.Duration // silence after which a client is asked for a sign; 0: DefaultKeepAlive
	MessageRate   float64       // messages and searches per second and connection; 0: DefaultMessageRate
	MessageBurst  int           // and at once; 0: DefaultMessageBurst
	Push          bool          // keep clients that ask for it informed; else they get the list alone
	MaxFollowed   int           // different lists on which clients are kept informed; 0: DefaultMaxFollowed

	// Conn bounds the connections. Its Idle is the time from one whole message to the
	// next; its Metrics and Log are taken from here.
	Conn       netserve.ConnOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // what is dropped is counted here; nil: nowhere
	Registerer prometheus.Registerer // for the service's own metrics; nil: none
}

func (o Options) withDefaults() Options {
	if o.MaxFilter <= 0 || o.MaxFilter > filter.MaxLength {
		o.MaxFilter = filter.MaxLength
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = DefaultKeepAlive
	}
	if o.MessageRate <= 0 {
		o.MessageRate = DefaultMessageRate
	}
	if o.MessageBurst <= 0 {
		o.MessageBurst = DefaultMessageBurst
	}
	if o.MaxFollowed <= 0 {
		o.MaxFollowed = DefaultMaxFollowed
	}
	if o.Conn.FirstByte <= 0 {
		o.Conn.FirstByte = netserve.DefaultFirstByte
	}
	if o.Conn.Idle <= 0 {
		o.Conn.Idle = netserve.DefaultIdle
	}
	o.Conn.Metrics, o.Conn.Log = o.Metrics, o.Log
	return o
}

// Server answers server browsers. It may serve several listeners, but Serve is
// called once at a time: its goroutine for updates exists once.
type Server struct {
	opt      Options
	metrics  *metrics
	views    *views.Cache[viewKey, view, *view]
	builders builders
	feed     *feed
	indexes  *views.Cache[string, nameIndex, *nameIndex] // names of players, by game
	searches *netserve.Limiter
	chunks   views.Chunks
	ignored  filterlog.Log
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	opt = opt.withDefaults()
	s := &Server{opt: opt, metrics: newMetrics(opt.Registerer)}
	s.opt.Conn.Refused = s.refused
	s.views = newViews(s.metrics)
	s.indexes, s.searches = newIndexes(), newSearchBudget()
	s.feed = newFeed(opt, s.view, s.metrics)
	return s
}

// Serve serves the connections of ln, and sends updates to those that asked for
// them, until ctx ends. It returns after all its goroutines, with nil unless ln
// broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.Go(func() error {
		defer cancel()
		return netserve.ServeConns(ctx, ln, s, s.opt.Conn)
	})
	if s.opt.Push {
		g.Go(func() error { s.feed.run(ctx); return nil })
	}
	return g.Wait()
}
