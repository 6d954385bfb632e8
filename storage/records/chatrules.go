package records

import (
	"context"
	"encoding/binary"
	"iter"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// chatRules are the rules of the chat.
var chatRules = kind[storage.ChatRule]{
	table: tableChatRules,
	key:   func(r *storage.ChatRule) []byte { return chatRuleKey(r.ChatRuleKey) },
	canon: storage.ChatRule.Canonical,
	most:  storage.MaxChatRules,
	over:  (*storage.ChatRule).Expired,
}

// chatRuleKey is the key of a chat rule: its kind, its profile (0 for an
// address), the length of the address in bytes, the address, the length of the
// prefix, and the channel. k is canonical.
func chatRuleKey(k storage.ChatRuleKey) []byte {
	key := binary.BigEndian.AppendUint32([]byte{byte(k.Kind)}, uint32(k.Profile))
	if k.Profile == 0 {
		address := k.Prefix.Addr().AsSlice()
		key = append(append(append(key, byte(len(address))), address...), byte(k.Prefix.Bits()))
	}
	return append(key, k.Channel...)
}

// PutChatRule is described in [storage.ChatRules].
func (s *Store) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	return chatRules.put(ctx, s, r)
}

// RemoveChatRule is described in [storage.ChatRules].
func (s *Store) RemoveChatRule(ctx context.Context, k storage.ChatRuleKey) error {
	k, err := k.Canonical()
	if err != nil {
		return err
	}
	return chatRules.remove(ctx, s, chatRuleKey(k))
}

// ChatRules is described in [storage.ChatRules].
func (s *Store) ChatRules(ctx context.Context) iter.Seq2[storage.ChatRule, error] {
	return chatRules.all(ctx, s)
}

// SweepChatRules is described in [storage.ChatRules].
func (s *Store) SweepChatRules(ctx context.Context, now time.Time) (int, error) {
	return chatRules.sweep(ctx, s, now)
}
