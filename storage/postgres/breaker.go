package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// goneAfter is how many steps in a row must have failed, without an answer of the server,
	// until it counts as gone. One may be a lost packet.
	goneAfter = 2
	// tryEvery is the interval at which a server that is gone is tried again.
	tryEvery = time.Second
)

// breaker refuses steps while the server is gone, so that callers need not wait to learn
// it. It tries the server itself.
type breaker struct {
	mu       sync.Mutex // guards the fields below
	answered time.Time  // when the server answered last
	failures int        // since then
	gone     error      // why steps are refused; nil: they are not

	back chan struct{} // closed when a server that was gone answers
}

// refusal returns why a step need not be tried, nil if it must be.
func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// note notes the result of an attempt, which took up to most, and reports whether the server
// is gone from now on. That no connection became free counts only if nothing was answered
// meanwhile: else others use them.
func (b *breaker) note(err error, most time.Duration) (broke bool) {
	_, answered := errors.AsType[*pgconn.PgError](err)
	down, ok := errors.AsType[*unavailableError](err)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case !ok, answered && down.kind != kindConnect:
		if b.gone != nil {
			close(b.back)
		}
		b.answered, b.failures, b.gone = now, 0, nil
	case b.gone != nil, down.kind == kindContended, down.kind == kindNone && now.Sub(b.answered) < most:
	default:
		if b.failures++; b.failures >= goneAfter {
			b.gone, b.back = down, make(chan struct{})
			return true
		}
	}
	return false
}

// noteResult notes the result of an attempt to use the server.
func (e *Engine) noteResult(err error) {
	if e.gone.note(err, e.timeout) {
		go e.tryAgain()
	}
}

// tryAgain tries the server, by new connections, until it answers.
func (e *Engine) tryAgain() {
	e.pool.Reset()
	back := e.gone.awaited()
	for !e.closed.Load() {
		next := time.After(tryEvery)
		ctx, cancel := context.WithTimeout(context.Background(), tryEvery)
		if err := e.pool.Ping(ctx); err == nil {
			e.gone.note(nil, 0)
		}
		cancel()
		select {
		case <-back:
			return
		case <-next:
		}
	}
}

// awaited returns a channel that is closed when the server answers, after it was gone.
func (b *breaker) awaited() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.back
}
