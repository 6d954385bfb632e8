package gpcm

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// sweepEvery is the interval at which long expired requests and messages are
// removed.
const sweepEvery = time.Hour

// Store is the part of a storage engine that the service needs. See package
// storage for the methods.
type Store interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)

	AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error
	RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error
	Lists(ctx context.Context, owner storage.ProfileID) (storage.Lists, error)
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error)
	AddBlock(ctx context.Context, owner, other storage.ProfileID) error
	RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error
	Ask(ctx context.Context, r storage.Request) error
	Request(ctx context.Context, from, to storage.ProfileID) (storage.Request, error)
	Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error]
	Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error
	SweepRequests(ctx context.Context, now time.Time) (n int, err error)
	Messages(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error)
	ShowMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error
	RemoveMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error
	SweepMessages(ctx context.Context, now time.Time) (n int, err error)
}

// Options configure a Server. Store, Accounts, Hub and Games are required. All
// functions must be safe for concurrent use and must not block.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // a client that is signed in is looked up in Banned again with each command and keepalive

	Store    Store
	Accounts *accounts.Service
	Hub      presence.Hub
	Games    *games.Catalog
	Cluster  cluster.Bus // other nodes; nil: none
}

// Server is the presence service.
type Server struct {
	opt      Options
	commands map[string]*command // never changed
	metrics  *metrics
	gate     *netserve.Gate
	live     atomic.Pointer[live] // never nil
	buffers  buffers
	changes  *netserve.Buckets[storage.ProfileID] // of changes of the store, by profile: a new connection has no new quota
	trouble  netserve.Trouble
	endings  endings

	registered func(netip.Addr)         // counts a registration on the other nodes
	nodes      cluster.Notes[listsNote] // buddies or blocks have changed

	newChallenge func() string // of a connection; never changed once it serves
	settleTime   time.Duration // likewise; see the constant

	lists lists // of buddies and blocks, see session.relation
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, commands: commands(), metrics: newMetrics(opt.Registerer), settleTime: settleTime, changes: netserve.NewBuckets[storage.ProfileID](changeBurst, changeBurst/changeRate*time.Second, changeSlots)}
	s.newChallenge = func() string { return gamespy.RandomLetters(challengeLen) }
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	s.live.Store(newLive(&opt.Config))
	s.nodes = cluster.NewNotes[listsNote](opt.Cluster, "gpcm.relations")
	s.registered = opt.Accounts.ShareQuota("gpcm", func(from netip.Addr) { s.live.Load().registrations.Allow(from, time.Now()) })
	return s
}

// Serve serves the connections of ln, and removes expired requests and messages
// from the store, until ctx ends. It returns after all its goroutines, with nil
// unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.Go(func() error {
		defer cancel()
		return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
			Gate: s.gate, FirstByte: 2 * s.opt.LoginTime, Idle: forever, // the session's own deadlines come first
			Write: s.opt.Write, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
		})
	})
	g.Go(func() error { clock.Every(ctx, sweepEvery, s.sweepOnce); return nil })
	return g.Wait()
}

// sweepOnce removes long expired requests and messages, unless the clock may be
// wrong.
func (s *Server) sweepOnce(ctx context.Context, watch *clock.Watch, now time.Time, running time.Duration) {
	if _, steady := watch.Steady(now, running); !steady {
		return
	}
	s.sweep(ctx, "requests", clock.Deletable(now), s.opt.Store.SweepRequests)
	s.sweep(ctx, "messages", clock.Deletable(now), s.opt.Store.SweepMessages)
}

// sweep removes requests and messages that had expired at before.
func (s *Server) sweep(ctx context.Context, what string, before time.Time, remove func(context.Context, time.Time) (int, error)) {
	n, err := remove(ctx, before)
	if err != nil && ctx.Err() == nil {
		fault.Log(s.opt.Log, err).Err(err).Str("what", what).Msg("cannot remove expired records")
	}
	if n > 0 {
		s.opt.Log.Info().Str("what", what).Int("count", n).Msg("removed expired records")
	}
}
