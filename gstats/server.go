package gstats

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

const name = "gstats"

// sharedMemory bounds the memory of long messages on all connections, in bytes.
const sharedMemory = 64 << 20

// Book keeps the data that games store. A change that it returns from is durable.
type Book interface {
	// Get returns a block or storage.ErrNotFound.
	Get(ctx context.Context, id storage.StatBlockID) (storage.StatBlock, error)
	// Select is Get with only the values of keys.
	Select(ctx context.Context, id storage.StatBlockID, keys []string, missing string) (storage.StatBlock, error)
	// Set replaces the data of a block, and Merge the values of keys in it. They return
	// the time of the change.
	Set(ctx context.Context, id storage.StatBlockID, data []byte) (time.Time, error)
	Merge(ctx context.Context, id storage.StatBlockID, data []byte) (time.Time, error)
	// Report stores a report of a game.
	Report(ctx context.Context, s stats.Snapshot) error
	// Sweep removes reports that are too old and returns how many.
	Sweep(ctx context.Context, now time.Time) (int, error)
}

// SignIn checks players.
type SignIn interface {
	CheckStatsProof(ctx context.Context, p accounts.StatsProof) (accounts.Login, error)
	// SamePassword reports whether the account has the password of a login.
	SamePassword(l *accounts.Login, u *storage.User) bool
}

// Players reads the records of players. See package storage for the methods.
type Players interface {
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
}

// Options configure a Server. All but the sets of addresses, Verdicts, Metrics and
// Registerer are required. All functions must be safe for concurrent use.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Self
	part.Peers // a client is looked up in Banned again with each request

	Book    Book
	SignIn  SignIn
	Players Players
	Games   *games.Catalog
	// ByCDKey returns the profile with a nick and a registered CD key.
	ByCDKey func(ctx context.Context, game, nick, hash string) (storage.Profile, error)
	// Attach makes an authenticated player known, so that a ban, a deletion or a new
	// password ends the authentication. It returns a function that undoes that.
	Attach func(presence.Attached) (detach func())
	// Present reports whether the player of a profile is signed in from an address.
	Present func(ctx context.Context, id storage.ProfileID, from netip.Addr) bool
}

// Server is the statistics service.
type Server struct {
	opt     Options
	metrics *metrics
	gate    *netserve.Gate
	live    atomic.Pointer[live] // never nil
	keys    sessionKeys
	conns   atomic.Uint64 // that proved to be a game, since the start
	memory  memory
	trouble netserve.Trouble

	newChallenge func() string // of a connection; never changed once it serves
}

// live is the live half of a Config with its state.
type live struct {
	*Config
	writes, reports *netserve.Limiter
}

func newLive(c *Config) *live {
	return &live{
		c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Writes), Burst: c.WritesBurst}),
		netserve.PerMinute(c.ReportsPerAddr, netserve.LimiterOptions{}),
	}
}

// New returns a server. It starts nothing.
func New(opt Options) *Server {
	s := &Server{opt: opt, metrics: newMetrics(opt.Registerer), memory: memory{most: sharedMemory}, newChallenge: newChallenge}
	s.gate = netserve.NewGate(opt.Conns(opt.Trusted))
	s.live.Store(newLive(&opt.Config))
	return s
}

// Serve serves the connections of ln, and removes old reports, until ctx ends. It returns
// after all its goroutines, with nil unless ln broke. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	var sweeper sync.WaitGroup
	defer sweeper.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sweeper.Go(func() { clock.Every(ctx, sweepEvery, s.sweepOnce) })
	return netserve.ServeConns(ctx, ln, s, netserve.ConnOptions{
		Gate: s.gate, FirstByte: 2 * s.opt.LoginTime, Idle: forever, // the session's own deadlines come first
		Write: s.opt.Write, Grace: service.Grace, Refused: s.refused, Log: s.opt.Log, Metrics: s.opt.Metrics,
	})
}

// Reload applies the live keys. Open connections stay, and every address starts with a
// full quota.
func (s *Server) Reload(c *Config) {
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
	s.live.Store(newLive(c))
}

// unproven reports whether a player may be accepted although the proof cannot be checked.
func (s *Server) unproven(err error) bool {
	return errors.Is(err, accounts.ErrNotKept) && s.live.Load().Unproven
}

// troubled logs a fault of the server.
func (s *Server) troubled(ctx context.Context, err error, what string) {
	if ctx.Err() != nil {
		return
	}
	if untold, tell := s.trouble.Tell(time.Now()); tell {
		fault.Log(s.opt.Log, err).Err(err).Int("lines_left_out", untold).Msg(what)
	}
}

// sweepEvery is the interval at which old reports are removed.
const sweepEvery = time.Hour

// sweepOnce removes old reports, unless the clock may be wrong.
func (s *Server) sweepOnce(ctx context.Context, watch *clock.Watch, now time.Time, running time.Duration) {
	if _, steady := watch.Steady(now, running); !steady {
		return
	}
	n, err := s.opt.Book.Sweep(ctx, clock.Deletable(now))
	if err != nil {
		s.troubled(ctx, err, "old reports of games not removed")
	}
	if n > 0 {
		s.opt.Log.Info().Int("count", n).Msg("removed old reports of games")
	}
}

// Results of an authentication of a player.
const (
	loginAccepted = iota
	loginRefused
)

// Results of a report of a game.
const (
	reportStored = iota
	reportUntrusted
	reportTooLarge
	reportFailed
)

// metrics are the counters of the service; netserve.Metrics counts connections and
// drops.
type metrics struct {
	commands   [len(commandNames)]prometheus.Counter
	sets, gets [len(resultNames)]prometheus.Counter
	logins     [2]prometheus.Counter
	reports    [4]prometheus.Counter
	players    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := metric.With(reg)
	m := &metrics{players: f.Gauge("respawnd_gstats_players", "Players who are authenticated, on all connections.")}
	fill := func(to []prometheus.Counter, names []string, metric, help, label string) {
		v := f.Counters(metric, help, label)
		for i := range to {
			to[i] = v.WithLabelValues(names[i])
		}
	}
	fill(m.commands[:], commandNames[:], "respawnd_gstats_requests_total", "Requests of games.", "request")
	fill(m.sets[:], resultNames[:], "respawnd_gstats_sets_total", "Requests to store data of players, by how they ended.", "result")
	fill(m.gets[:], resultNames[:], "respawnd_gstats_gets_total", "Requests for data of players, by how they ended.", "result")
	fill(m.logins[:], []string{"accepted", "refused"}, "respawnd_gstats_logins_total", "Authentications of players.", "result")
	fill(m.reports[:], []string{"stored", "untrusted", "too_large", "failed"}, "respawnd_gstats_reports_total",
		"Reports of games; the untrusted ones are stored too.", "result")
	return m
}
