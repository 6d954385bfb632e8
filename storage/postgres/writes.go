package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// writes records the results of changes, for the readiness of the daemon.
type writes struct {
	mu      sync.Mutex           // guards the fields below
	running map[uint64]time.Time // start of each change that runs, at most one for each connection
	next    uint64
	last    time.Time // end of the last change
	err     error     // why the database could not make it; nil: it could

	observe func(took time.Duration, err error) // see OnWrite; set before it is needed
}

// begin records the beginning of a change and returns its number.
func (w *writes) begin() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = make(map[uint64]time.Time)
	}
	w.next++
	w.running[w.next] = time.Now()
	return w.next
}

// drop forgets a change that turned out to be none.
func (w *writes) drop(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, n)
}

// end records the end of a change. err is a failure of the database; a refusal
// is none.
func (w *writes) end(n uint64, err error) {
	w.mu.Lock()
	now := time.Now()
	took := now.Sub(w.running[n])
	delete(w.running, n)
	w.last, w.err = now, err
	w.mu.Unlock()
	if w.observe != nil {
		w.observe(took, err)
	}
}

// OnWrite sets the function that is called after each change, with its duration
// and the error of the database. OnWrite is called before the engine is used; the
// function may be called by several goroutines.
func (e *Engine) OnWrite(observe func(took time.Duration, err error)) { e.writes.observe = observe }

// LastWrite returns the time and the error of the last change that reached the
// database. The time is zero if there was none since Open.
func (e *Engine) LastWrite() (time.Time, error) {
	e.writes.mu.Lock()
	defer e.writes.mu.Unlock()
	return e.writes.last, e.writes.err
}

// WriteUnderWay returns the duration of the change that has been running
// longest; 0: none is.
func (e *Engine) WriteUnderWay() time.Duration {
	e.writes.mu.Lock()
	defer e.writes.mu.Unlock()
	var longest time.Duration
	for _, began := range e.writes.running {
		longest = max(longest, time.Since(began))
	}
	return longest
}

// Probe writes a meaningless value and returns nil when it is durable.
func (e *Engine) Probe(ctx context.Context) error {
	return e.repeat(ctx, &attempt{}, func(ctx context.Context, conn *pgxpool.Conn) error {
		n := e.writes.begin()
		_, err := conn.Exec(ctx, `INSERT INTO entry_settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, "probe/"+e.node, time.Now().UTC().Format(time.RFC3339Nano))
		e.writes.end(n, unavailable(conn, err))
		return err
	})
}
