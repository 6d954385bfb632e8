package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
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
// and the error of the database. OnWrite is called before the store is used; the
// function may be called by several goroutines.
func (s *Store) OnWrite(observe func(took time.Duration, err error)) { s.writes.observe = observe }

// LastWrite returns the time and the error of the last change that reached the
// database. The time is zero if there was none since Open.
func (s *Store) LastWrite() (time.Time, error) {
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	return s.writes.last, s.writes.err
}

// WriteUnderWay returns the duration of the change that has been running
// longest; 0: none is.
func (s *Store) WriteUnderWay() time.Duration {
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	var longest time.Duration
	for _, began := range s.writes.running {
		longest = max(longest, time.Since(began))
	}
	return longest
}

// Probe writes a meaningless value and returns nil when it is durable.
func (s *Store) Probe(ctx context.Context) error {
	return s.once(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		_, err := c.Exec(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, "probe/"+s.node, time.Now().UTC().Format(time.RFC3339Nano))
		return err
	})
}
