package views

import (
	"sync"
	"sync/atomic"
	"time"
)

// MaxAge is how long a Latest serves what it has although the list did not change:
// the times at which servers were last heard move on.
const MaxAge = time.Second

// Latest caches what a service last made of the whole list until the list changes
// or MaxAge has passed. Now may be called concurrently.
type Latest[T any] struct {
	serial func() uint64
	build  func(last *T) *T

	building sync.Mutex // held while one is made: one at a time
	current  atomic.Pointer[dated[T]]
}

// dated is what was made, and of what.
type dated[T any] struct {
	made   *T
	serial uint64    // it has every change up to this one
	begun  time.Time // when reading the list began
}

// NewLatest returns a Latest that has nothing yet. serial returns the serial of
// the last change of the list. build reads the list; it may take over what is the
// same in the one that was made last, which is nil at first and must not change.
func NewLatest[T any](serial func() uint64, build func(last *T) *T) *Latest[T] {
	return &Latest[T]{serial: serial, build: build}
}

// Now returns one that has every change made before the call and is at most
// MaxAge old. Callers that come while one is being made wait for it and share the
// next.
func (l *Latest[T]) Now() *T {
	asked := time.Now()
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

// Last returns the one that was made last, nil if there is none.
func (l *Latest[T]) Last() *T {
	if d := l.current.Load(); d != nil {
		return d.made
	}
	return nil
}

func (l *Latest[T]) isFresh(d *dated[T], now time.Time) bool {
	return d.serial == l.serial() && now.Sub(d.begun) < MaxAge
}
