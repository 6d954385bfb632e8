package legacylist

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/filterlog"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// Defaults of Options.
const (
	DefaultLifetime    = 2 * time.Minute
	DefaultRequestTime = 30 * time.Second
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
	Addresses *advertise.Table // which addresses clients are given; nil: those of the list

	// Rooms returns the rooms of a game that are not in the catalogue; nil: none.
	// It is asked at most ten times a second for each game and filter, and may
	// block.
	Rooms func(game string) []games.Room
	// Waiting returns how many people are in a room; nil: nobody.
	Waiting func(room uint32) int
	// Banned tells which addresses are not served; nil: none.
	Banned func(netip.Addr) bool
	// Verdicts is told how requests for lists ended; nil: nobody.
	Verdicts *verdicts.Log

	// StrictValidate wants a right answer to the greeting also from clients that
	// read the list without encryption. A game's own policy comes first.
	StrictValidate bool
	LenientFilter  bool // ignore a filter with a mistake, in place of refusing it

	// RequestTime is how long a client may take from the greeting to the end of its
	// request; 0: DefaultRequestTime. One that says nothing at all is let go when
	// Conn.FirstByte is over, if that is earlier.
	RequestTime time.Duration

	Conn       netserve.ConnOptions // its Metrics and Log are taken from here; MaxLifetime 0: DefaultLifetime
	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // what is dropped is counted here; nil: nowhere
	Registerer prometheus.Registerer // for the service's own metrics; nil: none
}

func (o Options) withDefaults() Options {
	o.Conn.Metrics, o.Conn.Log = o.Metrics, o.Log
	if o.Conn.MaxLifetime <= 0 {
		o.Conn.MaxLifetime = DefaultLifetime
	}
	if o.RequestTime <= 0 {
		o.RequestTime = DefaultRequestTime
	}
	return o
}

// Server answers the server browsers of old games.
type Server struct {
	opt     Options
	metrics *metrics
	views   *views.Cache[viewKey, view, *view]
	chunks  views.Chunks
	ignored filterlog.Log
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	opt = opt.withDefaults()
	m := newMetrics(opt.Registerer)
	s := &Server{opt: opt, metrics: m, views: newViews(m)}
	s.opt.Conn.Refused = s.refused
	return s
}

// Serve serves the connections of ln until ctx ends. It returns after all its
// goroutines, with nil unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return netserve.ServeConns(ctx, ln, s, s.opt.Conn)
}
