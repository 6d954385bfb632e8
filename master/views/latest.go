package views

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
)

// MaxAge is how long a Latest serves a value although the list did not change:
// the times of the last reports change without that.
const MaxAge = time.Second

// KeptFor is how long a Latest keeps a value that is no longer asked for, while Run runs. The
// value of a long list is large.
const KeptFor = time.Minute

// Latest caches a value made from the whole list until the list changes or
// MaxAge has passed. Now may be called concurrently.
type Latest[T any] struct {
	serial func() uint64
	build  func(last *T) *T
	hold   func(made *T) time.Duration // nil: values are not held

	asked    atomic.Int64 // when Now was called last, in Unix nanoseconds
	building sync.Mutex   // held while a value is built
	current  atomic.Pointer[dated[T]]
}

// dated is a value with the state of the list from which it was built.
type dated[T any] struct {
	made   *T
	serial uint64    // the value includes every change up to this one
	begun  time.Time // when reading the list began
}

// NewLatest returns a Latest without a value. serial returns the serial of the
// last change of the list. build reads the list; it may reuse parts of the last
// value, which is nil at first and must not be modified.
func NewLatest[T any](serial func() uint64, build func(last *T) *T) *Latest[T] {
	return &Latest[T]{serial: serial, build: build}
}

// Hold lets Now return a value for as long after its build began as hold says, whatever
// changed meanwhile: a long list that changes all the time would be read for each
// request. It must be called before Now. hold must be quick.
func (l *Latest[T]) Hold(hold func(made *T) time.Duration) { l.hold = hold }

// Now returns a value that includes every change made before the call, except for those
// within the time that a value is held, and is at most MaxAge old. Concurrent callers wait
// for a running build and share the next one.
func (l *Latest[T]) Now() *T {
	asked := time.Now()
	l.asked.Store(asked.UnixNano())
	if d := l.current.Load(); d != nil && l.isFresh(d, asked) {
		return d.made
	}
	l.building.Lock()
	defer l.building.Unlock()
	last := l.current.Load()
	if last != nil && (last.begun.After(asked) || l.isFresh(last, asked)) {
		return last.made
	}
	next := &dated[T]{serial: l.serial(), begun: time.Now()}
	next.made = l.build(l.Last())
	l.current.Store(next)
	return next.made
}

// Run removes unused values, until ctx ends.
func (l *Latest[T]) Run(ctx context.Context) {
	for now := range clock.Ticks(ctx, KeptFor) {
		l.forget(now)
	}
}

// forget drops the value if it was not asked for within KeptFor.
func (l *Latest[T]) forget(now time.Time) {
	l.building.Lock()
	defer l.building.Unlock()
	if now.UnixNano()-l.asked.Load() >= int64(KeptFor) {
		l.current.Store(nil)
	}
}

// Last returns the last value, nil if there is none.
func (l *Latest[T]) Last() *T {
	if d := l.current.Load(); d != nil {
		return d.made
	}
	return nil
}

func (l *Latest[T]) isFresh(d *dated[T], now time.Time) bool {
	age := now.Sub(d.begun)
	return l.hold != nil && age < l.hold(d.made) || d.serial == l.serial() && age < MaxAge
}
