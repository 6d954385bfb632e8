package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	berrors "go.etcd.io/bbolt/errors"
)

// writes records the results of writing to the disk.
type writes struct {
	mu    sync.Mutex // guards the fields below
	began time.Time  // start of the current write; zero: none
	last  time.Time  // end of the last write
	err   error      // result of the last write

	observe func(took time.Duration, err error) // see OnWrite; set before it is needed
}

// begin records the beginning of a transaction and returns its time.
func (w *writes) begin() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Now()
	return w.began
}

// end records the end of the transaction that began at a time: err is its result,
// refused the error of its step, which is unrelated to the disk. The next
// transaction may have begun.
func (w *writes) end(began time.Time, err, refused error) {
	now, took := time.Now(), time.Duration(0)
	if !began.IsZero() { // it could begin
		took = now.Sub(began)
	}
	if w.note(began, now, err, refused) {
		w.report(took, err)
	}
}

// note is end without the report. It returns false if nothing was written.
func (w *writes) note(began, now time.Time, err, refused error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.Equal(began) {
		w.began = time.Time{}
	}
	if refused != nil || errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return false
	}
	w.last, w.err = now, err
	return true
}

// report calls the function of OnWrite.
func (w *writes) report(took time.Duration, err error) {
	if w.observe != nil {
		w.observe(took, err)
	}
}

// OnWrite sets the function that is called after each write to the disk, with the
// time from the beginning of its transaction to its end and its error. It is also
// called for each change that is refused because the file is damaged. A group of
// changes is one write. OnWrite is called before the engine is used; the function
// may be called by several goroutines.
func (e *Engine) OnWrite(observe func(took time.Duration, err error)) { e.writes.observe = observe }

// LastWrite returns the time and the error of the last write to the disk. The
// time is zero if nothing was written since Open.
func (e *Engine) LastWrite() (time.Time, error) {
	if err := e.check.err(); isDamage(err) {
		return time.Now(), err
	}
	if broken := e.broken.Load(); broken != nil {
		return time.Now(), *broken
	}
	e.writes.mu.Lock()
	defer e.writes.mu.Unlock()
	return e.writes.last, e.writes.err
}

// WriteUnderWay returns the duration of the current write; 0: there is none.
// Waiting writes do not count.
func (e *Engine) WriteUnderWay() time.Duration {
	e.writes.mu.Lock()
	defer e.writes.mu.Unlock()
	if e.writes.began.IsZero() {
		return 0
	}
	return time.Since(e.writes.began)
}

// Probe writes a meaningless value and returns nil when it is on the disk.
func (e *Engine) Probe(ctx context.Context) error {
	return e.change(ctx, func(c *change) error {
		c.wrote = true
		now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		return c.tx.Bucket([]byte(bucketMeta)).Put([]byte(metaProbe), sealEntry([]byte(metaProbe), now))
	})
}
