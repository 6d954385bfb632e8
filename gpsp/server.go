package gpsp

import (
	"context"
	"iter"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Store is the part of the store that the service reads. See package storage
// for the methods.
type Store interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	UserByEmail(ctx context.Context, partner int, email string) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
	ProfilesOf(ctx context.Context, user storage.UserID) ([]storage.Profile, error)
	ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error)
	FindProfiles(ctx context.Context, by storage.ProfileIndex, value string) iter.Seq2[storage.Profile, error]
	Lists(ctx context.Context, owner storage.ProfileID) (storage.Lists, error)
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error)
}

// Hub knows the signed-in players; a presence.Hub is one.
type Hub interface {
	CheckKey(ctx context.Context, id storage.ProfileID, key int32) bool
	Match(ctx context.Context, product, limit int) []presence.Present
}

// Options configure a Server. Store, Accounts and Hub are required. All
// functions must be safe for concurrent use and must not block.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers

	Store    Store
	Accounts *accounts.Service
	Hub      Hub
}

// Server answers searches and registrations.
type Server struct {
	opt      Options
	commands map[string]command // never changed
	metrics  *metrics
	gate     *netserve.Gate
	live     atomic.Pointer[live] // never nil
	trouble  netserve.Trouble

	registered func(netip.Addr) // counts a registration on the other nodes
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, commands: commandsByName(), metrics: newMetrics(opt.Registerer)}
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	s.live.Store(newLive(&opt.Config))
	s.registered = opt.Accounts.ShareQuota("gpsp", func(from netip.Addr) { s.live.Load().registrations.Allow(from, time.Now()) })
	return s
}

// Reload applies the live keys from the next request on. Open connections stay,
// and every address starts with full quotas.
func (s *Server) Reload(c *Config) {
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
	s.live.Store(newLive(c))
}

// Serve serves the connections of ln until ctx ends. It returns after all its
// goroutines, with nil unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
		Gate: s.gate, Idle: s.opt.Idle, Write: s.opt.Write, Grace: service.Grace,
		Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
	})
}
