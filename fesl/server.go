package fesl

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/ssl3"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// name is that of the service in the log of verdicts.
const name = "fesl"

// Store reads the records of players. See package storage for the methods.
type Store interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	UserByEmail(ctx context.Context, partner int, email string) (storage.User, error)
	ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
}

// Options configure a Server. Store, Accounts, Games, Stats, Lobby and Attach are required. All functions
// must be safe for concurrent use and must not block.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // a client is looked up in Banned again with each message

	Store    Store
	Accounts *accounts.Service
	Games    *games.Catalog
	Stats    *stats.Book
	Lobby    *lobby.Lobby
	// Attach makes a player known who is signed in, so that a ban, a deletion or a new
	// password ends the session. It returns a function that undoes that.
	Attach func(presence.Attached) (detach func())
	// Private reports whether strangers must not learn which accounts exist; nil: they may.
	Private func() bool
	// TLS is the configuration for clients that begin with a handshake; nil: they are
	// refused.
	TLS *tls.Config
	// SSL3 has the certificate for those of them that speak nothing newer; nil: they are refused.
	SSL3 *ssl3.Identity
}

// Server is the sign-in service.
type Server struct {
	opt        Options
	commands   map[string]*command // never changed
	metrics    *metrics
	gate       *netserve.Gate
	live       atomic.Pointer[live] // never nil
	trouble    netserve.Trouble
	strange    strange
	playing    playing
	registered func(netip.Addr) // counts a registration on the other nodes

	newKey func() string // session keys; never changed once it serves
}

// live is the live half of a Config with its state.
type live struct {
	*Config
	registrations *netserve.Limiter
}

// registrationSlots is the number of registering addresses that are remembered.
const registrationSlots = 1 << 13

func newLive(c *Config) *live {
	return &live{c, netserve.PerMinute(c.Registrations, netserve.LimiterOptions{Slots: registrationSlots})}
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, commands: commands(), metrics: newMetrics(opt.Registerer), newKey: newKey}
	s.gate = netserve.NewGate(s.limits(&opt.Config))
	s.live.Store(newLive(&opt.Config))
	s.registered = opt.Accounts.ShareQuota(name, func(from netip.Addr) { s.live.Load().registrations.Allow(from, time.Now()) })
	return s
}

// forever disables the idle limit of netserve: the session's own deadlines come first.
const forever = 10 * 365 * 24 * time.Hour

// Serve serves the connections of all listeners until ctx ends. It returns after all its
// goroutines, with nil unless a listener broke. It closes them.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, ln := range listeners {
		g.Go(func() error {
			return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
				Gate: s.gate, Idle: forever, Write: s.opt.Write, Grace: service.Grace,
				Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics, Ciphered: true,
			})
		})
	}
	return g.Wait()
}

// refused notes that a connection is refused. A client would understand nothing before
// its Hello.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	s.opt.Verdicts.NoteRefused(name, peer.Addr(), why)
	return nil
}

// Reload applies the live keys. Open connections stay, and every address starts with a
// full quota.
func (s *Server) Reload(c *Config) {
	s.gate.SetLimits(s.limits(c))
	s.live.Store(newLive(c))
}

// limits returns the limits of connections.
func (s *Server) limits(c *Config) netserve.ConnOptions {
	return netserve.ConnOptions{
		MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: float64(c.Rate), Burst: c.Burst, Exempt: s.opt.Trusted,
	}
}

// mayRegister takes one registration from the quota of an address and reports whether
// there was one.
func (s *Server) mayRegister(from netip.Addr) bool {
	if s.opt.Trusted.Has(from) {
		return true
	}
	if !s.live.Load().registrations.Allow(from, time.Now()) {
		return false
	}
	s.registered(from)
	return true
}

// private reports whether strangers must not learn which accounts exist.
func (s *Server) private() bool { return s.opt.Private != nil && s.opt.Private() }

// playing are the sessions that play as a profile: each profile plays once.
type playing struct {
	mu  sync.Mutex // guards all
	all map[storage.ProfileID]*player
}

// enter makes p the session of its profile and returns the one before, nil if there is
// none.
func (a *playing) enter(p *player) (before *player) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = make(map[storage.ProfileID]*player)
	}
	before = a.all[p.profile]
	a.all[p.profile] = p
	return before
}

// leave undoes enter, unless another session has taken the profile over.
func (a *playing) leave(p *player) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[p.profile] == p {
		delete(a.all, p.profile)
	}
}

// maxStrange is how many kinds of unknown requests are logged.
const maxStrange = 256

// strange are the unknown requests that were logged, by game and name.
type strange struct {
	mu   sync.Mutex // guards seen
	seen map[[2]string]bool
}

// first reports whether a request of a game is seen for the first time.
func (a *strange) first(game, request string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{game, request}
	if a.seen[key] || len(a.seen) >= maxStrange {
		return false
	}
	if a.seen == nil {
		a.seen = make(map[[2]string]bool)
	}
	a.seen[key] = true
	return true
}
