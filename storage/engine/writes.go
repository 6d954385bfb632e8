package engine

import (
	"sync"
	"time"
)

// Writes records the results of an engine's writes, for the readiness of the daemon.
type Writes struct {
	mu      sync.Mutex           // guards the fields below
	running map[uint64]time.Time // start of each write that runs
	number  uint64               // of the newest one
	last    time.Time            // end of the last write
	err     error                // its result

	observe func(took time.Duration, err error)
}

// OnWrite sets the function that is called after each write, with its duration and the
// error of the disk or the database, and for each change that is refused because nothing can
// be written. OnWrite is called before the engine is used; the function may be called by
// several goroutines.
func (w *Writes) OnWrite(observe func(took time.Duration, err error)) { w.observe = observe }

// Begin records the beginning of a write and returns its number, above 0.
func (w *Writes) Begin() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = make(map[uint64]time.Time)
	}
	w.number++
	w.running[w.number] = time.Now()
	return w.number
}

// Drop forgets a write that turned out to be none.
func (w *Writes) Drop(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, n)
}

// End records the end of a write, 0 for one that could not begin. The next one may have begun.
func (w *Writes) End(n uint64, err error) {
	w.mu.Lock()
	now, took := time.Now(), time.Duration(0)
	if began, ok := w.running[n]; ok {
		took = now.Sub(began)
		delete(w.running, n)
	}
	w.last, w.err = now, err
	w.mu.Unlock()
	w.Report(took, err)
}

// Report calls the function of OnWrite.
func (w *Writes) Report(took time.Duration, err error) {
	if w.observe != nil {
		w.observe(took, err)
	}
}

// LastWrite returns the time and the error of the last write. The time is zero if there was
// none.
func (w *Writes) LastWrite() (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.err
}

// WriteUnderWay returns the duration of the write that has been running longest; 0: none is.
func (w *Writes) WriteUnderWay() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var longest time.Duration
	for _, began := range w.running {
		longest = max(longest, time.Since(began))
	}
	return longest
}
