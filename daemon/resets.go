package daemon

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

// When expired reset links are removed from the store.
const (
	firstSweep = time.Minute // after the start, which has enough to read
	sweepEvery = 24 * time.Hour
)

// sweepResets removes expired reset links, until ctx ends.
func (d *Daemon) sweepResets(ctx context.Context) {
	for wait := firstSweep; clock.Pause(ctx, wait); wait = sweepEvery {
		n, err := d.accounts.Passwords.SweepResets(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("expired reset links stay in the store; they are refused")
		}
		if n > 0 {
			d.log.Debug().Int("links", n).Msg("removed expired reset links")
		}
	}
}
