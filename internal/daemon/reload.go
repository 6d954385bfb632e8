package daemon

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/webhook"
)

// reloadOn reloads games, bans and limits on each signal, and informs the
// service manager when a reload begins and ends.
func (d *Daemon) reloadOn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			d.report(notifyStopping, "stopping")
			return
		case <-d.opt.Reload:
			d.report(notifyReloading, "reloading")
			if err := d.reloadNow(ctx); err != nil {
				Report(d.log, err, "not reloaded")
			}
			d.report(notifyReady, "serving")
		}
	}
}

// reloadNow applies the settings that may change while the daemon runs, see
// configs.Reload. It loads and checks everything first: after a mistake nothing
// has changed.
func (d *Daemon) reloadNow(ctx context.Context) error {
	read, warnings, err := d.opt.Load()
	if err != nil {
		return err
	}
	Warn(d.log, warnings)
	merged, restart := configs.Reload(d.settings.Load().config, read)
	hooks, err := d.loadAll(ctx, read)
	if err != nil {
		return err
	}
	next := newSettings(merged)
	d.settings.Store(next)
	d.store.LimitAudit(next.audit())
	d.registry.SetLimits(d.limits(next))
	d.local.setRules(next.rules())
	d.webhooks.SetHooks(hooks)
	if err := d.listings.take(ctx); err != nil {
		d.log.Error().Err(err).Msg("the servers that an operator added or hid cannot be read")
	}
	d.reload(next)
	if len(restart) > 0 {
		d.log.Warn().Strs("keys", restart).Msg("these keys changed; a restart takes them over")
	}
	d.log.Info().Int("games", d.catalogue.Catalog().Len()).Int("bans", len(d.bansInForce())).Msg("reloaded games, bans and limits")
	return nil
}

// loadAll reads all files that a reload applies besides the configuration, and
// checks the configuration as a start would. If it returns nil, the games and
// the bans are in force, and the rest is known to be valid. After an error
// nothing has changed.
func (d *Daemon) loadAll(ctx context.Context, c Config) ([]webhook.Hook, error) {
	if err := errors.Join(Check(c, service.AtReload), d.listings.check(ctx)); err != nil {
		return nil, err
	}
	s := c.Shared()
	hooks, err := webhook.Hooks(s.Webhooks)
	if err != nil {
		return nil, err
	}
	return hooks, d.catalogue.LoadIf(ctx, s.GamesFile, func() error { return d.bans.Reload(ctx) })
}
