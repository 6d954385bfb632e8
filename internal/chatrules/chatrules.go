// Package chatrules holds the operators' rules for players in chat: bans,
// mutes, and moderators of channels. A chat service checks them for every line.
//
// It does not store rules (package storage does), knows no protocol, and ends
// no session: a service checks its members again when the rules change.
package chatrules

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Who identifies a player in chat. The zero value of a field means unknown.
type Who struct {
	Profile storage.ProfileID
	Addr    netip.Addr
}

// Table holds the rules in force. All methods may be called from any number of
// goroutines.
type Table struct {
	store   storage.ChatRules
	current atomic.Pointer[set] // the rules in force; never nil, never modified in place

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	// Check never waits for it.
	changing sync.Mutex
	ended    []storage.ChatRuleKey // rules that had expired at the last Recheck; guarded by changing

	mu       sync.Mutex // guards onChange
	onChange []func()
}

// New returns a table without rules. Load fills it from store.
func New(store storage.ChatRules) *Table {
	t := &Table{store: store}
	t.current.Store(newSet(nil))
	return t
}

// OnChange registers a function that is called after every change of the rules
// in force, by the goroutine that made the change. It must be registered before
// serving begins. It may read the table; it must not wait for another change.
func (t *Table) OnChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onChange = append(t.onChange, f)
}

// Load replaces the rules in force by those of the store. After an error
// nothing has changed.
func (t *Table) Load(ctx context.Context) error {
	return t.change(func([]storage.ChatRule) ([]storage.ChatRule, bool, error) {
		var loaded []storage.ChatRule
		for r, err := range t.store.ChatRules(ctx) {
			if err != nil {
				return nil, false, fmt.Errorf("load chat rules: %w", err)
			}
			loaded = append(loaded, r)
		}
		return loaded, true, nil
	})
}

// Put stores r, replacing one with the same key, and puts it in force at once.
func (t *Table) Put(ctx context.Context, r storage.ChatRule) error {
	r, err := r.Canonical()
	if err != nil {
		return err
	}
	return t.change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		if err := t.store.PutChatRule(ctx, r); err != nil {
			return nil, false, err
		}
		return append(without(old, r.ChatRuleKey), r), true, nil
	})
}

// Remove lifts the rule with that key at once. It returns storage.ErrNotFound if there
// is none.
func (t *Table) Remove(ctx context.Context, key storage.ChatRuleKey) error {
	key, err := key.Canonical()
	if err != nil {
		return err
	}
	return t.change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		if err := t.store.RemoveChatRule(ctx, key); err != nil {
			return nil, false, err
		}
		return without(old, key), true, nil
	})
}

func without(list []storage.ChatRule, key storage.ChatRuleKey) []storage.ChatRule {
	return slices.DeleteFunc(list, func(r storage.ChatRule) bool { return r.ChatRuleKey == key })
}

// Recheck calls the functions of OnChange if the set of expired rules at now differs
// from the one at the last call. Check does not need it.
func (t *Table) Recheck(now time.Time) {
	_ = t.change(func(all []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		var ended []storage.ChatRuleKey
		for i := range all {
			if all[i].Expired(now) {
				ended = append(ended, all[i].ChatRuleKey)
			}
		}
		changed := !slices.Equal(ended, t.ended)
		t.ended = ended
		return all, changed, nil
	})
}

// Sweep removes the rules that had expired at before from the store and from
// the table and returns how many the store had. Choose a time old
// enough that a wrong clock would have been noticed.
func (t *Table) Sweep(ctx context.Context, before time.Time) (n int, err error) {
	err = t.change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		if n, err = t.store.SweepChatRules(ctx, before); err != nil {
			return nil, false, err
		}
		return slices.DeleteFunc(old, func(r storage.ChatRule) bool { return r.Expired(before) }), n > 0, nil
	})
	return n, err
}

// A step makes a change in the store. It gets a copy of the rules in force and
// returns the new ones, and whether they differ.
type step func(old []storage.ChatRule) (next []storage.ChatRule, changed bool, err error)

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
	if err == nil && changed {
		t.current.Store(newSet(next))
	}
	return changed, err
}

// List returns all rules in the order of their keys, including expired ones
// that were not swept yet. The caller owns the slice.
func (t *Table) List() []storage.ChatRule { return slices.Clone(t.current.Load().list) }

// Check returns whether a player is banned from a channel, and whether the
// player is muted in it. Rules for all channels are included; for an empty
// channel only those are checked. It does not block and does not allocate.
func (t *Table) Check(who Who, channel string) (banned, muted bool) {
	s := t.current.Load()
	if len(s.list) == 0 { // most tables are empty
		return false, false
	}
	return s.check(who, channel)
}

// Moderates reports whether a profile moderates a channel. It does not block and does
// not allocate.
func (t *Table) Moderates(id storage.ProfileID, channel string) bool {
	return id != 0 && t.current.Load().moderates(id, channel)
}

// Moderators returns the profiles that moderate a channel, in order. It does not
// block.
func (t *Table) Moderators(channel string) []storage.ProfileID {
	return t.current.Load().moderators(channel)
}
