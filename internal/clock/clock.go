// Package clock reports whether the system's clock may be trusted by callers that
// permanently delete expired data.
//
// Such a clock jumps: a machine that starts without the time, a mistyped date, a
// suspended guest. What was deleted in a wrong year does not come back with the
// right one. The package is not for time-outs: times of this process carry a
// monotonic reading, which does not jump.
package clock

import "time"

// slack is how far the clock may run away from the time that has really passed
// between two looks; correcting it little by little is no jump.
const slack = time.Minute

// Grace is how long what is over is kept before it is deleted.
const Grace = 30 * 24 * time.Hour

// Watch compares the system's clock with the time that passes. It is used by one
// goroutine.
type Watch struct {
	wall    time.Time     // what the clock showed at the last look
	running time.Duration // how long the watch ran then
}

// NewWatch returns a watch that begins when the clock shows wall.
func NewWatch(wall time.Time) *Watch { return &Watch{wall: wall.Round(0)} }

// Steady looks at the clock, which shows wall when the watch has run for so long
// by the time that really passes. It reports whether the clock ran evenly since
// the last look, and by how much it jumped if not: forward if that is positive.
func (w *Watch) Steady(wall time.Time, running time.Duration) (jump time.Duration, steady bool) {
	wall = wall.Round(0)
	jump = wall.Sub(w.wall) - (running - w.running)
	w.wall, w.running = wall, running
	return jump, jump <= slack && jump >= -slack
}

// Deletable returns the time before which something must have been over to be
// deleted at now.
func Deletable(now time.Time) time.Time { return now.Add(-Grace) }
