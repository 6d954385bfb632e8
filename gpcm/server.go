package gpcm

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Defaults of Options and Policy.
const (
	// DefaultLoginTime is how long a client may take to sign in.
	DefaultLoginTime = 30 * time.Second
	// DefaultKeepAlive is after how much silence a client is sent a keepalive.
	// Clients send one of their own after two minutes without hearing anything.
	DefaultKeepAlive = 90 * time.Second
	// DefaultTicketRenewal is after what time a client gets a new login ticket.
	DefaultTicketRenewal = accounts.DefaultTicketLife / 2
	// DefaultRegistrations is how many accounts and profiles an address may
	// create per minute.
	DefaultRegistrations = 60
	// DefaultWrite is how long a client may take to read what is sent at once.
	DefaultWrite = 60 * time.Second
	// DefaultUserTimeout is how long a client's system may take to acknowledge
	// what was sent.
	DefaultUserTimeout = 75 * time.Second
	// DefaultMaxConns is how many connections there may be.
	DefaultMaxConns = 32768
)

// sweepEvery is how often requests and messages that have long been expired are
// removed.
const sweepEvery = time.Hour

// Store is what the service needs of a storage engine. See package storage for
// the methods.
type Store interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)

	AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error
	RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error
	BuddiesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Watched(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error)
	AddBlock(ctx context.Context, owner, other storage.ProfileID) error
	RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error
	BlocksOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Ask(ctx context.Context, r storage.Request) error
	Request(ctx context.Context, from, to storage.ProfileID) (storage.Request, error)
	Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error]
	Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error
	SweepRequests(ctx context.Context, now time.Time) (n int, err error)
	Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error
	Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (n int, err error)
	Messages(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error)
	RemoveMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error
	SweepMessages(ctx context.Context, now time.Time) (n int, err error)
}

// Options are what the service needs and how it behaves. All functions may be
// called from many goroutines at once and must not block.
type Options struct {
	Store    Store             // required
	Accounts *accounts.Service // required
	Hub      presence.Hub      // required

	// Banned tells which addresses are not served; nil: none. Somebody who is
	// signed in already is looked up again with every command and keepalive.
	Banned func(netip.Addr) bool

	// Verdicts is told how sign-ins and requests for accounts ended; nil: nobody.
	Verdicts *verdicts.Log

	Policy // replaced by SetPolicy

	LoginTime     time.Duration // 0: DefaultLoginTime
	KeepAlive     time.Duration // 0: DefaultKeepAlive; over 2 minutes clients send theirs
	UserTimeout   time.Duration // 0: DefaultUserTimeout; see netserve.Conn.SetUserTimeout
	TicketRenewal time.Duration // 0: DefaultTicketRenewal; keep it under the life of tickets

	// Conn bounds the connections. Its Metrics, Log, Refused, FirstByte and Idle
	// are not used; where MaxConns and Write are 0 the defaults of this package
	// count.
	Conn       netserve.ConnOptions
	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // what is dropped is counted here; nil: nowhere
	Registerer prometheus.Registerer // for the service's own metrics; nil: none
}

// Policy is what an operator may change while the Server runs.
type Policy struct {
	// Registrations is how many accounts and profiles an address, or an IPv6
	// /64, may create per minute; 0: DefaultRegistrations, negative: no bound.
	Registrations int
	// Trusted tells which addresses have no such bound; nil: none.
	Trusted func(netip.Addr) bool
	// Rule returns the rule of a game by its name in lower case, which may be
	// empty or unknown; nil: the zero Rule for all. It counts from the next
	// login on.
	Rule func(game string) Rule
}

// Rule is how the service treats the players of one game. The zero value is
// right for nearly every game.
type Rule struct {
	// SecondLogin says whom a login displaces.
	SecondLogin presence.Policy
	// AutoAccept makes buddies of two players who have asked each other,
	// without anybody's answer. Games with friend codes need it.
	AutoAccept bool
	// SymmetricDelete makes who removes a buddy disappear from the list of that
	// buddy too.
	SymmetricDelete bool
	// NoUserID reports the user id as 0. Some games of handhelds want that.
	NoUserID bool
}

// Server is the presence service.
type Server struct {
	opt      Options
	commands map[string]*command // never changed
	metrics  *metrics
	policy   atomic.Pointer[policy] // never nil
	buffers  buffers
	changes  *quotas
	trouble  netserve.Trouble

	newChallenge func() string // of a connection; never changed once it serves

	// relations changes with every change of buddies and blocks that goes
	// through this service; see session.relation.
	relations atomic.Uint64
}

// policy is a Policy with its state.
type policy struct {
	Policy
	registrations *netserve.Limiter
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	opt = opt.withDefaults()
	s := &Server{opt: opt, commands: commands(), metrics: newMetrics(opt.Registerer), changes: newQuotas()}
	s.opt.Conn.Refused = s.refused
	s.newChallenge = func() string { return randomLetters(challengeLen) }
	s.SetPolicy(opt.Policy)
	return s
}

func (o Options) withDefaults() Options {
	if o.LoginTime <= 0 {
		o.LoginTime = DefaultLoginTime
	}
	if o.KeepAlive <= 0 {
		o.KeepAlive = DefaultKeepAlive
	}
	if o.UserTimeout <= 0 {
		o.UserTimeout = DefaultUserTimeout
	}
	if o.TicketRenewal <= 0 {
		o.TicketRenewal = DefaultTicketRenewal
	}
	if o.Conn.MaxConns == 0 {
		o.Conn.MaxConns = DefaultMaxConns
	}
	if o.Conn.Write == 0 {
		o.Conn.Write = DefaultWrite
	}
	o.Conn.FirstByte = 2 * o.LoginTime // our own deadlines come first
	o.Conn.Idle = forever
	o.Conn.Metrics, o.Conn.Log = o.Metrics, o.Log
	return o
}

// SetPolicy replaces the policy. Every address starts with a whole quota.
func (s *Server) SetPolicy(p Policy) {
	next := &policy{Policy: p}
	n := p.Registrations
	if n == 0 {
		n = DefaultRegistrations
	}
	if n > 0 {
		const slots = 1 << 13
		next.registrations = netserve.NewLimiter(netserve.LimiterOptions{
			Rate: float64(n) / time.Minute.Seconds(), Burst: n, Slots: slots,
		})
	}
	s.policy.Store(next)
}

// mayRegister takes one registration from the quota of an address and tells
// whether there was one.
func (p *policy) mayRegister(from netip.Addr, now time.Time) bool {
	return p.registrations == nil || p.Trusted != nil && p.Trusted(from) || p.registrations.Allow(from, now)
}

// rule returns the rule of a game.
func (p *policy) rule(game string) Rule {
	if p.Rule == nil {
		return Rule{}
	}
	return p.Rule(storage.Fold(game))
}

// banned reports whether an address is not served.
func (s *Server) banned(a netip.Addr) bool { return s.opt.Banned != nil && s.opt.Banned(a) }

// Serve serves the connections of ln, and removes expired requests and messages
// from the store, until ctx ends. It returns after all its goroutines, with nil
// unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g.Go(func() error {
		defer cancel()
		return netserve.ServeConns(ctx, ln, s, s.opt.Conn)
	})
	g.Go(func() error { s.sweepOften(ctx); return nil })
	return g.Wait()
}

// sweepOften sweeps until ctx ends.
func (s *Server) sweepOften(ctx context.Context) {
	began := time.Now()
	watch := clock.NewWatch(began)
	often := time.NewTicker(sweepEvery)
	defer often.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-often.C:
			s.sweepOnce(ctx, watch, now, now.Sub(began))
		}
	}
}

// sweepOnce removes what has long been expired, unless the clock may be wrong.
func (s *Server) sweepOnce(ctx context.Context, watch *clock.Watch, now time.Time, running time.Duration) {
	if _, steady := watch.Steady(now, running); !steady {
		return
	}
	s.sweep(ctx, "requests", clock.Deletable(now), s.opt.Store.SweepRequests)
	s.sweep(ctx, "messages", clock.Deletable(now), s.opt.Store.SweepMessages)
}

// sweep removes what was expired at before.
func (s *Server) sweep(ctx context.Context, what string, before time.Time, remove func(context.Context, time.Time) (int, error)) {
	n, err := remove(ctx, before)
	if err != nil && ctx.Err() == nil {
		s.opt.Log.Error().Err(err).Str("what", what).Msg("removing what is expired")
	}
	if n > 0 {
		s.opt.Log.Info().Str("what", what).Int("count", n).Msg("removed what had long been expired")
	}
}
