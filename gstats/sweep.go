package gstats

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

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
