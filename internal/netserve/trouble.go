package netserve

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// backoff is the pause after errors that follow each other. It belongs to one
// goroutine.
type backoff struct {
	free        int // errors in a row without a pause
	first, most time.Duration

	errors int
	pause  time.Duration
}

// wait counts an error and pauses if there were too many in a row. It returns
// false if ctx has ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.errors++
	if b.errors <= b.free {
		return ctx.Err() == nil
	}
	b.pause = min(max(2*b.pause, b.first), b.most)
	select {
	case <-time.After(b.pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// reset forgets the errors, after a success.
func (b *backoff) reset() { b.errors, b.pause = 0, 0 }

// throttle is the minimum time between two log lines about one kind of error.
const throttle = time.Minute

// throttledLog logs one kind of error at most once per throttle, with the
// number of times that it occurred. It belongs to one goroutine.
type throttledLog struct {
	log   zerolog.Logger
	last  time.Time
	count int
}

func (t *throttledLog) warn(now time.Time, err error, msg string) {
	t.count++
	if !t.last.IsZero() && now.Sub(t.last) < throttle {
		return
	}
	t.log.Warn().Err(err).Int("times", t.count).Msg(msg)
	t.last, t.count = now, 0
}

// troubleLines is the number of errors of a service that are logged per
// throttle.
const troubleLines = 20

// Trouble limits the rate at which internal errors, such as those of a full
// disk, are logged: clients can cause them repeatedly, and the log may be on
// the same disk. It may be used concurrently.
type Trouble struct {
	mu     sync.Mutex // guards the fields below
	since  time.Time
	told   int // since then
	untold int // since the last line
}

// Tell reports whether an error at now is to be logged, and how many were not
// logged since the last one.
func (t *Trouble) Tell(now time.Time) (untold int, tell bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() || now.Sub(t.since) >= throttle {
		t.since, t.told = now, 0
	}
	if t.told >= troubleLines {
		t.untold++
		return 0, false
	}
	t.told++
	untold, t.untold = t.untold, 0
	return untold, true
}

// Line returns e with the number of errors that were not logged since the last one, or
// nil, which logs nothing, if the error is not to be logged.
func (t *Trouble) Line(e *zerolog.Event) *zerolog.Event {
	untold, tell := t.Tell(time.Now())
	if !tell {
		return e.Discard()
	}
	return e.Int("untold", untold)
}

// Bounds of the log of panics.
const (
	panicOrigins = 64        // distinct origins that are remembered; more are only counted
	panicAgain   = time.Hour // an origin is logged again after this
	panicTextMax = 256       // bytes of the panic's own text
)

// panicLog contains panics of handlers: it counts all of them and logs each
// origin in the code once per panicAgain. It may be used concurrently.
type panicLog struct {
	log     zerolog.Logger
	metrics *Metrics

	mu   sync.Mutex
	seen map[string]time.Time
}

func newPanicLog(log zerolog.Logger, m *Metrics) *panicLog {
	return &panicLog{log: log, metrics: m, seen: make(map[string]time.Time)}
}

// contain must be deferred directly around the call of a handler; what names the lost object, such
// as "packet".
func (l *panicLog) contain(what string) {
	v := recover()
	if v == nil {
		return
	}
	l.metrics.panicked()
	origin := panicOrigin()
	if !l.isNews(origin, time.Now()) {
		return
	}
	text := fmt.Sprint(v)
	l.log.Error().Str("lost", what).Str("panic", text[:min(len(text), panicTextMax)]).
		Str("place", origin).Bytes("stack", debug.Stack()).Msg("handler panicked")
}

// isNews reports whether a panic at origin is to be logged now.
func (l *panicLog) isNews(origin string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.seen[origin]
	if known && now.Sub(last) < panicAgain || !known && len(l.seen) >= panicOrigins {
		return false
	}
	l.seen[origin] = now
	return true
}

// panicOrigin returns the function and line of the code that panicked. It is
// called from a function that is deferred directly.
func panicOrigin() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // from the runtime's panic on
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
	}
}
