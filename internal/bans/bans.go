// Package bans holds the bans in force. Services check it for every packet and
// every connection.
//
// It does not store bans (package storage does) and does not act on them: each
// service decides how it treats a banned peer.
package bans

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Table reports whether an address is banned. All methods may be called from
// any number of goroutines.
type Table struct {
	store   storage.Bans
	current atomic.Pointer[set] // the bans in force; never nil, never modified in place

	// changing is held through a change, also while the store writes: the
	// order in which changes reach the store must be the order in which they
	// come into force. Check never waits for it.
	changing sync.Mutex
	ended    []banKey // bans that had expired at the last Recheck; guarded by changing

	mu       sync.Mutex // guards onChange
	onChange []func()
}

// banKey identifies a ban.
type banKey struct {
	prefix netip.Prefix
	scope  storage.Scope
}

// New returns a table without bans. Load fills it from store.
func New(store storage.Bans) *Table {
	t := &Table{store: store}
	t.current.Store(newSet(nil))
	return t
}

// OnChange registers a function that is called after every change of the bans
// in force, by the goroutine that made the change. It must be registered before
// serving begins. It may call List and Check; it must not wait for another
// change.
func (t *Table) OnChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onChange = append(t.onChange, f)
}

// Load replaces the bans in force by those of the store. If some are damaged,
// the rest is in force and the error matches storage.ErrDamaged. After any
// other error nothing has changed.
func (t *Table) Load(ctx context.Context) error { return t.load(ctx, true) }

// Reload is Load for a table that is in use: after any error, damaged bans
// included, nothing has changed.
func (t *Table) Reload(ctx context.Context) error { return t.load(ctx, false) }

// load is Load if rest is true, else Reload.
func (t *Table) load(ctx context.Context, rest bool) error {
	var damaged []error
	err := t.change(func([]storage.Ban) ([]storage.Ban, bool, error) {
		var loaded []storage.Ban
		for b, err := range t.store.Bans(ctx) {
			switch {
			case rest && errors.Is(err, storage.ErrDamaged):
				damaged = append(damaged, err)
			case err != nil:
				return nil, false, err
			default:
				loaded = append(loaded, b)
			}
		}
		return loaded, true, nil
	})
	if err = errors.Join(append(damaged, err)...); err != nil {
		return fmt.Errorf("load bans: %w", err)
	}
	return nil
}

// Add stores b, replacing one with the same prefix and scope, and puts it in
// force at once. A ban of all addresses fails with ErrEverybody.
func (t *Table) Add(ctx context.Context, b storage.Ban) error {
	b, err := b.Canonical()
	if err != nil {
		return err
	}
	if err := refuseEverybody(b.Prefix); err != nil {
		return err
	}
	return t.change(func(old []storage.Ban) ([]storage.Ban, bool, error) {
		if err := t.store.AddBan(ctx, b); err != nil {
			return nil, false, err
		}
		rest := slices.DeleteFunc(old, func(o storage.Ban) bool { return o.Prefix == b.Prefix && o.Scope == b.Scope })
		return append(rest, b), true, nil
	})
}

// Remove lifts the ban of exactly that prefix and scope, or with
// storage.EveryScope all bans of exactly that prefix, at once, and returns how
// many there were.
func (t *Table) Remove(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (n int, err error) {
	prefix, err = storage.CanonicalPrefix(prefix)
	if err != nil {
		return 0, err
	}
	err = t.change(func(old []storage.Ban) ([]storage.Ban, bool, error) {
		if n, err = t.store.RemoveBan(ctx, prefix, scope); err != nil {
			return nil, false, err
		}
		rest := slices.DeleteFunc(old, func(o storage.Ban) bool {
			return o.Prefix == prefix && (scope == storage.EveryScope || o.Scope == scope)
		})
		return rest, n > 0, nil
	})
	return n, err
}

// Recheck calls the functions of OnChange if the set of expired bans at now differs
// from that of the last call. The set can also shrink: clocks are set back. Check does not
// need it.
func (t *Table) Recheck(now time.Time) {
	_ = t.change(func(all []storage.Ban) ([]storage.Ban, bool, error) {
		var ended []banKey
		for _, b := range all {
			if b.Expired(now) {
				ended = append(ended, banKey{b.Prefix, b.Scope})
			}
		}
		changed := !slices.Equal(ended, t.ended)
		t.ended = ended
		return all, changed, nil
	})
}

// Sweep removes the bans that had expired at before from the store and from the
// table and returns how many the store had. Choose a time
// old enough that a wrong clock would have been noticed.
func (t *Table) Sweep(ctx context.Context, before time.Time) (n int, err error) {
	err = t.change(func(old []storage.Ban) ([]storage.Ban, bool, error) {
		if n, err = t.store.SweepBans(ctx, before); err != nil {
			return nil, false, err
		}
		rest := slices.DeleteFunc(old, func(o storage.Ban) bool { return o.Expired(before) })
		return rest, n > 0, nil
	})
	return n, err
}

// A step makes a change in the store. It gets a copy of the bans in force and
// returns the new ones, and whether they differ.
type step func(old []storage.Ban) (next []storage.Ban, changed bool, err error)

// change applies s and calls the functions of OnChange.
func (t *Table) change(s step) error {
	changed, err := t.apply(s)
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
func (t *Table) apply(s step) (changed bool, err error) {
	t.changing.Lock()
	defer t.changing.Unlock()
	next, changed, err := s(t.List())
	if err != nil || !changed {
		return false, err
	}
	t.current.Store(newSet(next))
	return true, nil
}

// List returns all bans in the table, including expired ones that were not
// swept yet: IPv4 first, then by address, length and scope. The caller owns the
// slice.
func (t *Table) List() []storage.Ban {
	return slices.Clone(t.current.Load().list)
}

// InForce is List without the bans that have expired at now.
func (t *Table) InForce(now time.Time) []storage.Ban {
	return slices.DeleteFunc(t.List(), func(b storage.Ban) bool { return b.Expired(now) })
}

// Count returns the number of bans that have not expired at now.
func (t *Table) Count(now time.Time) (n int) {
	list := t.current.Load().list
	for i := range list {
		if !list[i].Expired(now) {
			n++
		}
	}
	return n
}

// Check returns the ban of a in scope at now: among the unexpired bans of that
// scope and of storage.ScopeAll, the one with the longest prefix. It does not
// block and does not allocate.
func (t *Table) Check(scope storage.Scope, a netip.Addr, now time.Time) (storage.Ban, bool) {
	s := t.current.Load()
	if len(s.list) == 0 { // most tables are empty
		return storage.Ban{}, false
	}
	b := s.find(scope, a, now)
	if b == nil {
		return storage.Ban{}, false
	}
	return *b, true
}
