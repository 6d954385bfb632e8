package gpsp

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// Defaults of Options and Policy.
const (
	// DefaultIdle is how long a client may take for a whole request.
	DefaultIdle = 60 * time.Second
	// DefaultLookups is how many look-ups an address has per minute.
	DefaultLookups = 200
	// DefaultValidPerNet is how many questions about e-mails a network has per
	// minute.
	DefaultValidPerNet = 1000
	// DefaultRegistrations is how many registrations an address has per minute.
	DefaultRegistrations = 60
	// DefaultConnRate and DefaultConnBurst are how many connections an address
	// may open per second and at once. The original client opens one for each
	// request and waits a minute if it is refused, so the quotas come first.
	DefaultConnRate  = 20.0
	DefaultConnBurst = 400
)

// Store is what the service reads. See package storage for the methods.
type Store interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	UserByEmail(ctx context.Context, partner int, email string) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
	ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error)
	ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error)
	FindProfiles(ctx context.Context, by storage.ProfileIndex, value string) iter.Seq2[storage.Profile, error]
	BuddiesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error)
}

// Hub knows who is signed in; a presence.Hub is one.
type Hub interface {
	CheckKey(ctx context.Context, id storage.ProfileID, key int32) bool
	Match(ctx context.Context, product, limit int) []presence.Present
}

// Options are what the service needs and how it behaves. All functions may be
// called from many goroutines at once and must not block.
type Options struct {
	Store    Store             // required
	Accounts *accounts.Service // required
	Hub      Hub               // required

	// Banned tells which addresses are not served; nil: none.
	Banned func(netip.Addr) bool

	// Verdicts is told how requests about accounts ended; nil: nobody.
	Verdicts *verdicts.Log

	Policy // replaced by SetPolicy

	Idle       time.Duration        // for a whole request, from the end of the one before; 0: DefaultIdle
	Conn       netserve.ConnOptions // its Metrics and Log are taken from here, its Rate and Burst have our defaults
	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // what is dropped is counted here; nil: nowhere
	Registerer prometheus.Registerer // for the service's own metrics; nil: none
}

// Policy is what an operator may change while the Server runs. An address is an
// IPv4 address or an IPv6 /64. There is no quota over all addresses together,
// because one flood would then keep everybody out.
type Policy struct {
	Lookups       int // per minute and address; 0: DefaultLookups, negative: no bound
	ValidPerNet   int // whether an e-mail has an account: per minute and IPv4 /24 or IPv6 /48; 0: DefaultValidPerNet, negative: no bound
	Registrations int // per minute and address; 0: DefaultRegistrations, negative: no bound
	// Trusted tells which addresses have no quotas; nil: none.
	Trusted func(netip.Addr) bool
	// Private keeps back what strangers could collect; see the package comment.
	Private bool
}

// Server answers searches and registrations.
type Server struct {
	opt      Options
	commands map[string]command // never changed
	metrics  *metrics
	policy   atomic.Pointer[policy] // never nil
	trouble  netserve.Trouble
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	if opt.Idle <= 0 {
		opt.Idle = DefaultIdle
	}
	opt.Conn.Metrics, opt.Conn.Log = opt.Metrics, opt.Log
	opt.Conn.Idle = max(opt.Conn.Idle, opt.Idle) // our own deadline comes first
	if opt.Conn.Rate == 0 {
		opt.Conn.Rate = DefaultConnRate
	}
	if opt.Conn.Burst == 0 {
		opt.Conn.Burst = DefaultConnBurst
	}
	s := &Server{opt: opt, commands: commandsByName(), metrics: newMetrics(opt.Registerer)}
	s.opt.Conn.Refused = s.refused
	s.SetPolicy(opt.Policy)
	return s
}

// SetPolicy replaces the policy from the next request on. Every address starts
// with whole quotas.
func (s *Server) SetPolicy(p Policy) { s.policy.Store(newPolicy(p)) }

// Serve serves the connections of ln until ctx ends. It returns after all its
// goroutines, with nil unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return netserve.ServeConns(ctx, ln, s, s.opt.Conn)
}
