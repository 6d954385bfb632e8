// Package filterlog logs the filters of list requests that cannot be parsed and
// are ignored. Any client can send such texts, so the number of lines is
// limited.
//
// It does not parse filters; the caller decides whether one is ignored.
package filterlog

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/clock"
)

// Bounds of the log: each text once per Window, and MaxTexts different ones. The
// others are counted.
const (
	Window   = time.Hour
	MaxTexts = 10

	// runEvery is how often Run checks whether a window is over.
	runEvery = time.Minute
)

// Log logs ignored filters. The zero value is ready. It may be used concurrently.
type Log struct {
	mu     sync.Mutex // guards the fields below
	seed   maphash.Seed
	since  time.Time           // start of the window
	logged map[uint64]struct{} // hashes of the texts that were logged in the window
	rest   int                 // filters of further texts in the window
}

// Ignored logs at level warn that the filter text of a request for game was
// ignored because of err, unless the window's lines are used up.
func (l *Log) Ignored(log zerolog.Logger, game, text string, err error) {
	first, rest := l.take(text, time.Now())
	leftOut(log, rest)
	if first {
		log.Warn().Err(err).Str("game", game).Str("filter", clean.UTF8(text)).Msg("filter ignored: it is not understood")
	}
}

// Run logs after each window how many filters were left out in it, until ctx ends,
// and then the number of the last window.
func (l *Log) Run(ctx context.Context, log zerolog.Logger) {
	for range clock.Ticks(ctx, runEvery) {
		leftOut(log, l.leave(Window))
	}
	leftOut(log, l.leave(0))
}

func leftOut(log zerolog.Logger, filters int) {
	if filters > 0 {
		log.Warn().Int("filters", filters).Stringer("within", Window).Msg("filters ignored: too many texts to log each")
	}
}

// leave returns how many filters were left out in a window that began at least age
// ago, and resets their number.
func (l *Log) leave(age time.Duration) (rest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.since) >= age {
		rest, l.rest = l.rest, 0
	}
	return rest
}

// take reports whether text is to be logged, and how many filters were left out
// in a window that has ended.
func (l *Log) take(text string, now time.Time) (first bool, rest int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logged == nil || now.Sub(l.since) >= Window {
		rest = l.rest
		l.seed, l.since, l.logged, l.rest = maphash.MakeSeed(), now, make(map[uint64]struct{}), 0
	}
	h := maphash.String(l.seed, text)
	if _, again := l.logged[h]; again {
		return false, rest
	}
	if len(l.logged) == MaxTexts {
		l.rest++
		return false, rest
	}
	l.logged[h] = struct{}{}
	return true, rest
}
