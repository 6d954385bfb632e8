package daemon

import (
	"context"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// banSweepEvery is the interval at which long expired bans and rules of chat are
// removed from the store, and expired ones are reported to servers, webhooks and chat.
// Old reports of games are removed as often.
const banSweepEvery = time.Hour

// bannedFrom is service.Network.Banned.
func (d *Daemon) bannedFrom(scope storage.Scope, a netip.Addr) bool {
	_, yes := d.bans.Check(scope, a, time.Now())
	return yes
}

// bannedServer reports whether servers of an origin may not be listed from an
// address, unless a running service enforces that itself.
func (d *Daemon) bannedServer(origin *master.Origin, a netip.Addr) bool {
	if e := d.settings.Load().owner(origin); e != nil && e.Bans != 0 {
		return !e.On && d.bannedFrom(e.Bans, a)
	}
	return d.bannedFrom(storage.ScopeLists, a)
}

// enforceBans removes banned servers from the list, at once those that report to other
// nodes too.
func (d *Daemon) enforceBans() {
	gone := d.registry.RemoveFunc(func(s *master.Server) bool { return d.bannedServer(s.Origin, s.Key.Source.Addr()) })
	d.registry.RemoveRemoteFunc(func(s *master.Server) bool { return d.bannedServer(s.Origin, s.Key.Source.Addr()) })
	for _, s := range gone {
		d.servers.Note(d.settings.Load().noting(s.Origin), s.Key.Source, s.Game, verdicts.Banned)
	}
}

// bansInForce returns the bans that have not expired.
func (d *Daemon) bansInForce() []storage.Ban { return d.bans.InForce(time.Now()) }

// sweepBans removes long expired bans, rules of chat and reports of games, until ctx ends.
func (d *Daemon) sweepBans(ctx context.Context) {
	w := banSweep{bans: d.bans, rules: d.chatRules, stats: d.stats, played: d.played, log: d.log}
	clock.Every(ctx, banSweepEvery, w.once)
}

// banSweep removes expired bans, unless the clock may be wrong.
type banSweep struct {
	bans  *bans.Table
	rules *chatrules.Table
	stats *stats.Book

	played *played.Table
	log    zerolog.Logger
}

// once sweeps at a time of day, after the watch has been running for a time.
func (w *banSweep) once(ctx context.Context, watch *clock.Watch, now time.Time, running time.Duration) {
	w.bans.Recheck(now)
	w.rules.Recheck(now)
	if jump, steady := watch.Steady(now, running); !steady {
		w.log.Warn().Stringer("by", jump.Round(time.Second)).
			Msg("the clock of this machine jumped; nothing that has expired is deleted until it runs evenly")
		return
	}
	if n, err := w.bans.Sweep(ctx, clock.Deletable(now)); err != nil {
		w.log.Error().Err(err).Msg("expired bans were not removed")
	} else if n > 0 {
		w.log.Info().Int("bans", n).Msg("removed bans that expired long ago")
	}
	if n, err := w.rules.Sweep(ctx, clock.Deletable(now)); err != nil {
		w.log.Error().Err(err).Msg("expired rules of chat were not removed")
	} else if n > 0 {
		w.log.Info().Int("rules", n).Msg("removed rules of chat that expired long ago")
	}
	if n, err := w.stats.Sweep(ctx, now); err != nil {
		w.log.Error().Err(err).Msg("old reports of games were not removed")
	} else if n > 0 {
		w.log.Info().Int("reports", n).Msg("removed old reports of games")
	}
	if err := w.played.Sweep(ctx, clock.Deletable(now)); err != nil {
		w.log.Error().Err(err).Msg("old reports of players on games were not removed")
	}
}
