// Package inforce keeps the records of a store in memory that services check for every packet:
// a change is in force as soon as it is stored, and those who act on it are informed.
//
// It knows no kind of record and decides nothing.
package inforce

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Form describes a kind of record R with keys K, and S, an immutable set of them made for look-ups.
type Form[R any, K comparable, S any] struct {
	Set     func([]R) *S // sorts the records, of which it takes ownership
	List    func(*S) []R // in order
	Key     func(*R) K
	Expired func(*R, time.Time) bool
	Sweep   func(context.Context, time.Time) (int, error) // removes records that had expired from the store
}

// Table holds the records in force. All methods may be called from any number of goroutines.
type Table[R any, K comparable, S any] struct {
	form    Form[R, K, S]
	current atomic.Pointer[S] // never nil, never modified in place

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	// Now never waits for it.
	changing sync.Mutex
	ended    []K // that had expired at the last Recheck; guarded by changing

	mu       sync.Mutex // guards onChange
	onChange []func()
}

// New returns a table without records.
func New[R any, K comparable, S any](f Form[R, K, S]) *Table[R, K, S] {
	t := &Table[R, K, S]{form: f}
	t.current.Store(f.Set(nil))
	return t
}

// OnChange registers a function that is called after every change of the records in force, by the
// goroutine that made the change. It must be registered before serving begins. It may read the
// table; it must not wait for another change.
func (t *Table[R, K, S]) OnChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onChange = append(t.onChange, f)
}

// Now returns the records in force. It does not block.
func (t *Table[R, K, S]) Now() *S { return t.current.Load() }

// List returns all records in order, including expired ones that were not swept yet. The caller
// owns the slice.
func (t *Table[R, K, S]) List() []R { return slices.Clone(t.form.List(t.Now())) }

// Recheck calls the functions of OnChange if the set of expired records at now differs from that of
// the last call. The set can also shrink: clocks are set back.
func (t *Table[R, K, S]) Recheck(now time.Time) {
	_ = t.Change(func(all []R) ([]R, bool, error) {
		var ended []K
		for i := range all {
			if t.form.Expired(&all[i], now) {
				ended = append(ended, t.form.Key(&all[i]))
			}
		}
		changed := !slices.Equal(ended, t.ended)
		t.ended = ended
		return all, changed, nil
	})
}

// Sweep removes the records that had expired at before from the store and from the table, and
// returns how many the store had. Choose a time old enough that a wrong clock would have been
// noticed.
func (t *Table[R, K, S]) Sweep(ctx context.Context, before time.Time) (n int, err error) {
	err = t.Change(func(old []R) ([]R, bool, error) {
		if n, err = t.form.Sweep(ctx, before); err != nil {
			return nil, false, err
		}
		return slices.DeleteFunc(old, func(r R) bool { return t.form.Expired(&r, before) }), n > 0, nil
	})
	return n, err
}

// Change makes a change in the store: step gets a copy of the records in force, and returns the new
// ones, and whether they differ. It then calls the functions of OnChange.
func (t *Table[R, K, S]) Change(step func(old []R) (next []R, changed bool, err error)) error {
	changed, err := t.apply(step)
	if err != nil || !changed {
		return err
	}
	t.mu.Lock()
	callbacks := slices.Clone(t.onChange)
	t.mu.Unlock()
	for _, f := range callbacks {
		f()
	}
	return nil
}

// apply runs one step at a time and puts its result in force.
func (t *Table[R, K, S]) apply(step func([]R) ([]R, bool, error)) (changed bool, err error) {
	t.changing.Lock()
	defer t.changing.Unlock()
	next, changed, err := step(t.List())
	if err == nil && changed {
		t.current.Store(t.form.Set(next))
	}
	return changed, err
}
