package gstats

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

// sweepEvery is the interval at which old reports are removed.
const sweepEvery = time.Hour

// sweepOften removes old reports until ctx ends.
func (s *Server) sweepOften(ctx context.Context) {
	began := time.Now()
	watch := clock.NewWatch(began)
	often := time.NewTicker(sweepEvery)
	defer often.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-often.C:
			s.sweepOnce(ctx, watch, now, now.Sub(began))
		}
	}
}

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
