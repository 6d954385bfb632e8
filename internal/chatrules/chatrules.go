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

	"github.com/respawnd/respawnd/internal/inforce"
	"github.com/respawnd/respawnd/storage"
)

// Who identifies a player in chat. The zero value of a field means unknown.
type Who struct {
	Profile storage.ProfileID
	Addr    netip.Addr
	Nick    string // in any case
}

// Table holds the rules in force. All methods may be called from any number of
// goroutines. List returns them in the order of their keys.
type Table struct {
	*inforce.Table[storage.ChatRule, storage.ChatRuleKey, set]

	store storage.ChatRules
}

// New returns a table without rules. Load fills it from store.
func New(store storage.ChatRules) *Table {
	return &Table{store: store, Table: inforce.New(inforce.Form[storage.ChatRule, storage.ChatRuleKey, set]{
		Set: newSet, List: func(s *set) []storage.ChatRule { return s.list }, Key: func(r *storage.ChatRule) storage.ChatRuleKey { return r.ChatRuleKey },
		Expired: (*storage.ChatRule).Expired, Sweep: store.SweepChatRules,
	})}
}

// Load replaces the rules in force by those of the store. After an error
// nothing has changed.
func (t *Table) Load(ctx context.Context) error {
	return t.Change(func([]storage.ChatRule) ([]storage.ChatRule, bool, error) {
		loaded, err := storage.Collect(t.store.ChatRules(ctx))
		if err != nil {
			return nil, false, fmt.Errorf("load chat rules: %w", err)
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
	return t.Change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
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
	return t.Change(func(old []storage.ChatRule) ([]storage.ChatRule, bool, error) {
		if err := t.store.RemoveChatRule(ctx, key); err != nil {
			return nil, false, err
		}
		return without(old, key), true, nil
	})
}

func without(list []storage.ChatRule, key storage.ChatRuleKey) []storage.ChatRule {
	return slices.DeleteFunc(list, func(r storage.ChatRule) bool { return r.ChatRuleKey == key })
}

// Check returns whether a player is banned from a channel, and whether the
// player is muted in it. Rules for all channels are included; for an empty
// channel only those are checked. It does not block and does not allocate.
func (t *Table) Check(who Who, channel string) (banned, muted bool) {
	s := t.Now()
	if len(s.list) == 0 { // most tables are empty
		return false, false
	}
	return s.check(who, channel)
}

// Moderates reports whether a profile moderates a channel. It does not block and does
// not allocate.
func (t *Table) Moderates(id storage.ProfileID, channel string) bool {
	return id != 0 && t.Now().moderates(id, channel)
}

// Moderators returns the profiles that moderate a channel, in order. It does not
// block.
func (t *Table) Moderators(channel string) []storage.ProfileID {
	return t.Now().moderators(channel)
}
