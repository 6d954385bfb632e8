// Package chatrules knows what operators decided about players in chat: which are
// banned or muted, and which moderate a channel. A chat service asks it for every
// line.
//
// It is not the place where rules are kept (package storage), knows no protocol, and
// ends no session: a service looks at its members again when the rules change.
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

// Who is a player as chat knows one. The zero value of a field is for what is not
// known.
type Who struct {
	Profile storage.ProfileID
	Addr    netip.Addr
}

// Table answers what a player may do in chat. All methods may be called from any
// number of goroutines.
type Table struct {
	store   storage.ChatRules
	current atomic.Pointer[set] // what is in force; never nil, never changed in place

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	// Check never waits for it.
	changing sync.Mutex
	ended    []storage.ChatRuleKey // what was over when Recheck looked last; guarded by changing

	mu       sync.Mutex // guards onChange
	onChange []func()
}

// New returns a table without rules. Load fills it from store.
func New(store storage.ChatRules) *Table {
	t := &Table{store: store}
	t.current.Store(newSet(nil))
	return t
}

// OnChange registers a function that is called after every change of what is in force,
// by the goroutine that made the change. It is registered before serving begins. It
// may read the table; it must not wait for another change.
func (t *Table) OnChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onChange = append(t.onChange, f)
}

// Load puts in force what the store holds, in place of what was in force. After an
// error nothing has changed.
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

// Put stores r, in place of one with the same key, and puts it in force at once.
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

// Sweep removes the rules that were over at before from the store and from the table
// and returns how many the store had. They are gone for good: before should be so long
// ago that a clock which was wrong has been noticed.
func (t *Table) Sweep(ctx context.Context, before time.Time) (n int, err error) {
	err = t.change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		if n, err = t.store.SweepChatRules(ctx, before); err != nil {
			return nil, false, err
		}
		return slices.DeleteFunc(old, func(r storage.ChatRule) bool { return r.Expired(before) }), n > 0, nil
	})
	return n, err
}

// A step does a change in the store. It gets a copy of what is in force and returns
// what shall be, and whether that is different.
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

// List returns all rules in the order of their keys, expired ones that were not swept
// yet too. The slice is the caller's.
func (t *Table) List() []storage.ChatRule { return slices.Clone(t.current.Load().list) }

// Check returns whether a player is banned from a channel, and whether one who is in it
// is muted. Rules for all channels count, too; an empty channel is for those alone. It
// does not block and does not allocate.
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
