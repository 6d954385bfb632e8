package competition

import (
	"context"
	"io"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/clans"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Times of the goroutine of a backend.
const (
	settleEvery = 5 * time.Second
	sweepEvery  = time.Hour
)

// rateSlots is how many profiles are remembered with their reports and sessions.
const rateSlots = 1 << 14

// MatchConfig are the settings of the backend. All are live.
type MatchConfig struct {
	// Time after the first report of a match for the reports of the other players,
	// {range}. Then those that came decide.
	Wait time.Duration `key:"match_wait" default:"10m" range:"10s to 24h" live:"true"`
	// Matches that are kept of each game, {range}.
	Keep int `key:"matches_kept" default:"1000" range:"1 to 1000000" live:"true"`
	// How long matches are kept, {range}.
	Age time.Duration `key:"match_age" default:"8760h" range:"1h to 87600h" live:"true"`
	// Reports of matches of one player per hour, {range}. 0: no bound.
	Reports int `key:"match_reports" default:"120" range:"0 to 1000000" live:"true"`
	// Sessions of matches that one player may begin or join per hour, {range}. 0: no bound.
	Sessions int `key:"match_sessions" default:"240" range:"0 to 1000000" live:"true"`
}

// player is a player whose identity was proved.
type player struct {
	profile storage.ProfileID
	nick    string
}

// Verifier checks the sender of a request.
type Verifier interface {
	// Verify returns the profile of a certificate, which we have made, and whose proof
	// shows that the request, from an address, comes from that player.
	Verify(ctx context.Context, certificate *soap.Element, proof string, from netip.Addr) (storage.ProfileID, error)
}

// Store is the part of the store that the backend uses.
type Store interface {
	storage.Matches
	clans.Reader
	RankOf(ctx context.Context, id storage.ScoreID) (storage.Score, error)
}

// Options configure a Backend. Store and Verifier are required.
type Options struct {
	part.Self
	part.Peers

	Config   MatchConfig
	Store    Store
	Verifier Verifier
	Boards   func(game string) []games.Board // leaderboards; nil: there are none
	// Ticket returns the profile that a login ticket was issued for; nil: there are none.
	Ticket func(ticket string) (storage.ProfileID, error)
	Rand   io.Reader
	Now    func() time.Time // nil: time.Now
}

// Backend answers the requests of the competition service. Its methods may be called
// concurrently.
type Backend struct {
	opt      Options
	sessions *sessions
	live     atomic.Pointer[MatchConfig] // never nil
	reports  netserve.Quota[storage.ProfileID]
	creates  netserve.Quota[storage.ProfileID] // sessions and intentions
	metrics  metrics
}

// metrics are the counters of a backend.
type metrics struct {
	matches *prometheus.CounterVec // outcome
	results *prometheus.CounterVec // result
}

// New returns a Backend without sessions.
func New(opt Options) *Backend {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	backend := &Backend{opt: opt, sessions: newSessions()}
	backend.Reload(opt.Config)
	var outcomes []string
	for _, o := range storage.MatchOutcomes() {
		outcomes = append(outcomes, string(o))
	}
	f := metric.With(opt.Registerer)
	backend.metrics = metrics{
		matches: f.Counters("respawnd_webservices_matches_total", "Matches that were first reported (open) or settled, by outcome.", "outcome", outcomes...),
		results: f.Counters("respawnd_webservices_competition_total", "Requests of the competition service, by result.", "result", codeNames[:]...),
	}
	f.GaugeFunc("respawnd_webservices_match_sessions", "Sessions of matches.", backend.sessions.len)
	return backend
}

// Reload applies the settings.
func (backend *Backend) Reload(c MatchConfig) {
	backend.live.Store(&c)
	backend.reports.Set(c.Reports, time.Hour, rateSlots)
	backend.creates.Set(c.Sessions, time.Hour, rateSlots)
}

func (backend *Backend) boards(game string) []games.Board {
	if backend.opt.Boards == nil {
		return nil
	}
	return backend.opt.Boards(game)
}

// Serve settles the matches whose reports are late, and removes old ones, until ctx ends.
// Matches that were open when the daemon stopped are open again.
func (backend *Backend) Serve(ctx context.Context) {
	backend.restore(ctx)
	backend.sweep(ctx)
	settle, sweep := time.NewTicker(settleEvery), time.NewTicker(sweepEvery)
	defer settle.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-settle.C:
			backend.settleDue(ctx, backend.opt.Now())
		case <-sweep.C:
			backend.sweep(ctx)
		}
	}
}

// restore makes the sessions of open matches.
func (backend *Backend) restore(ctx context.Context) {
	for m, err := range backend.opt.Store.OpenMatches(ctx) {
		if ctx.Err() != nil {
			return // the daemon stops
		}
		if err != nil {
			fault.Log(backend.opt.Log, err).Err(err).Msg("an open match cannot be read")
			continue
		}
		if id, ok := ParseGUID(m.Session); ok {
			// Its owner is not counted: it may have as many new ones.
			if err := backend.sessions.add(id, &session{match: m, open: true}, backend.opt.Now()); err != nil {
				fault.Log(backend.opt.Log, err).Err(err).Msg("an open match cannot be restored")
			}
		}
	}
}

// sweep removes matches that are too old.
func (backend *Backend) sweep(ctx context.Context) {
	if _, err := backend.opt.Store.SweepMatches(ctx, backend.opt.Now().Add(-backend.live.Load().Age)); err != nil && ctx.Err() == nil {
		fault.Log(backend.opt.Log, err).Err(err).Msg("old matches cannot be removed")
	}
}
