package legacylist

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/filterlog"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/views"
)

// maxLifetime bounds a connection: the longest list to the slowest reader.
const maxLifetime = 2 * time.Minute

// Options configure a Server. All functions must be safe for concurrent use.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers
	part.Listing

	// Rooms returns the rooms of a game that are not in the catalogue; nil: none.
	// It is called at most ten times a second for each game and filter, and may
	// block.
	Rooms func(game string) []games.Room
	// Waiting returns how many players are in the chat room of a group room; nil:
	// there is no chat.
	Waiting func(id uint32) int
}

// Server answers the server browsers of old games.
type Server struct {
	opt     Options
	gate    *netserve.Gate
	shares  *netserve.Limiter // lists for other masters
	metrics *metrics
	views   *views.Cache[viewKey, view, *view]
	chunks  views.Chunks
	ignored filterlog.Log
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	m := newMetrics(opt.Registerer)
	s := &Server{opt: opt, metrics: m, views: views.New[viewKey, view, *view](views.TextOptions(m.views.Kept))}
	s.shares = netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / shareEvery.Seconds(), Burst: shareBurst})
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	return s
}

// Reload applies the live keys at once. Open connections stay.
func (s *Server) Reload(c *Config) { s.gate.SetLimits(c.Conns(s.opt.Trusted)) }

// Serve serves the connections of ln until ctx ends. It returns when all its
// goroutines have ended, with nil unless ln failed. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var logging sync.WaitGroup
	logging.Go(func() { s.ignored.Run(ctx, s.opt.Log) })
	defer logging.Wait()
	defer cancel()
	return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
		Gate: s.gate, MaxLifetime: maxLifetime, Grace: service.Grace,
		Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
	})
}

const name = "legacylist"

// noteList notes the result of a list request. Faults of the connection are not
// noted.
func (x *session) noteList(game string, err error) {
	why, _ := errors.AsType[ended](err)
	if v, ok := why.Verdict(); ok {
		x.note(game, v)
	} else if err == nil {
		x.note(game, verdicts.ListSent)
	}
}

// refused notes that a connection is refused. It sends nothing: the client
// would not understand a message before its request.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	if why.OfAddress() {
		s.opt.Verdicts.NotePlayer(name, peer.Addr(), "", verdicts.Limited)
	}
	return nil
}

func (x *session) note(game string, v verdicts.Verdict) {
	x.server.opt.Verdicts.NotePlayer(name, x.conn.Peer().Addr(), game, v)
}
