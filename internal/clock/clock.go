// Package clock reports whether the system's clock may be trusted by callers that
// permanently delete expired data.
//
// A system clock jumps: a machine that starts without the time, a mistyped
// date, a suspended guest. Data deleted in a wrong year does not come back when
// the clock is corrected. The package is not for time-outs: times of this
// process carry a monotonic reading, which does not jump.
package clock

import (
	"context"
	"iter"
	"time"
)

// slack is the tolerated difference between the clock and the time that has
// really passed between two calls of Steady; a clock that is corrected
// gradually does not jump.
const slack = time.Minute

// Grace is how long expired data is kept before it is deleted.
const Grace = 30 * 24 * time.Hour

// Watch compares the system's clock with the time that passes. It is used by one
// goroutine.
type Watch struct {
	wall    time.Time     // the clock at the last call of Steady
	running time.Duration // the running time then
}

// NewWatch returns a watch that starts with the clock at wall.
func NewWatch(wall time.Time) *Watch { return &Watch{wall: wall.Round(0)} }

// Steady takes the clock, wall, and the monotonic time since the watch started,
// running. It reports whether the clock ran evenly since the last call, and by
// how much it jumped if not: forward if jump is positive.
func (w *Watch) Steady(wall time.Time, running time.Duration) (jump time.Duration, steady bool) {
	wall = wall.Round(0)
	jump = wall.Sub(w.wall) - (running - w.running)
	w.wall, w.running = wall, running
	return jump, jump <= slack && jump >= -slack
}

// Deletable returns the time before which data must have expired to be deleted
// at now.
func Deletable(now time.Time) time.Time { return now.Add(-Grace) }

// Pause waits, and reports false if ctx ended before.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Ticks yields the time each interval until ctx ends.
func Ticks(ctx context.Context, interval time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if !yield(now) {
					return
				}
			}
		}
	}
}

// Every calls sweep each interval until ctx ends, with a watch that it started, the time,
// and how long it has run, which are for [Watch.Steady].
func Every(ctx context.Context, interval time.Duration, sweep func(ctx context.Context, w *Watch, now time.Time, running time.Duration)) {
	began := time.Now()
	watch := NewWatch(began)
	for now := range Ticks(ctx, interval) {
		sweep(ctx, watch, now, now.Sub(began))
	}
}
