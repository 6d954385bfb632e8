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
	"time"

	"github.com/respawnd/respawnd/internal/inforce"
	"github.com/respawnd/respawnd/storage"
)

// Table reports whether an address is banned. All methods may be called from
// any number of goroutines. List returns IPv4 first, then by address, length and scope.
type Table struct {
	*inforce.Table[storage.Ban, banKey, set]

	store storage.Bans
}

type banKey struct {
	prefix netip.Prefix
	scope  storage.Scope
}

// New returns a table without bans. Load fills it from store.
func New(store storage.Bans) *Table {
	return &Table{store: store, Table: inforce.New(inforce.Form[storage.Ban, banKey, set]{
		Set: newSet, List: func(s *set) []storage.Ban { return s.list }, Key: func(b *storage.Ban) banKey { return banKey{b.Prefix, b.Scope} },
		Expired: (*storage.Ban).Expired, Sweep: store.SweepBans,
	})}
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
	err := t.Change(func([]storage.Ban) ([]storage.Ban, bool, error) {
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
	return t.Change(func(old []storage.Ban) ([]storage.Ban, bool, error) {
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
	err = t.Change(func(old []storage.Ban) ([]storage.Ban, bool, error) {
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

// InForce is List without the bans that have expired at now.
func (t *Table) InForce(now time.Time) []storage.Ban {
	return slices.DeleteFunc(t.List(), func(b storage.Ban) bool { return b.Expired(now) })
}

// Count returns the number of bans that have not expired at now.
func (t *Table) Count(now time.Time) (n int) {
	list := t.Now().list
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
	s := t.Now()
	if len(s.list) == 0 { // most tables are empty
		return storage.Ban{}, false
	}
	b := s.find(scope, a, now)
	if b == nil {
		return storage.Ban{}, false
	}
	return *b, true
}
