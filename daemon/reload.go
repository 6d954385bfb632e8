package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/clean"
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
			err := d.reloadNow(ctx)
			if err != nil {
				Report(d.log, err, "not reloaded")
			}
			now := time.Now()
			d.reloads.ended(err, now)
			d.report(NotifyReady, servingStatus(err, now))
		}
	}
}

// maxStatus is the number of characters of a mistake in the line for the service
// manager. The log has all mistakes in full.
const maxStatus = 300

// servingStatus is the line for the service manager after a reload that ended with
// err. It stays until the next reload.
func servingStatus(err error, now time.Time) string {
	if err == nil {
		return "serving"
	}
	mistakes, more := Mistakes(err), ""
	if n := len(mistakes) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more, see the log)", n)
	}
	return fmt.Sprintf("serving with the settings from before: the reload at %s failed: %s%s",
		now.UTC().Format(time.RFC3339), clean.Line(strings.ReplaceAll(mistakes[0].Error(), "\n", " "), maxStatus), more)
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
		d.log.Warn().Strs("keys", restart).Msg("these keys changed; they take effect after a restart")
	}
	d.log.Info().Int("games", d.offered()).Int("bans", len(d.bansInForce())).Msg("reloaded games, bans and limits")
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
