package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/respawnd/respawnd/storage"
)

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
	r, err := r.Canonical()
	if err != nil {
		return err
	}
	return s.putBounded(ctx, bucketChatRules, chatRuleKey(r.ChatRuleKey), r, storage.MaxChatRules)
}

// RemoveChatRule is described in [storage.ChatRules].
func (s *Store) RemoveChatRule(ctx context.Context, k storage.ChatRuleKey) error {
	k, err := k.Canonical()
	if err != nil {
		return err
	}
	return s.removeKey(ctx, bucketChatRules, chatRuleKey(k))
}

// ChatRules is described in [storage.ChatRules].
func (s *Store) ChatRules(ctx context.Context) iter.Seq2[storage.ChatRule, error] {
	return iterate(ctx, s, bucketChatRules, []byte{}, readRecord[storage.ChatRule])
}

// SweepChatRules is described in [storage.ChatRules].
func (s *Store) SweepChatRules(ctx context.Context, now time.Time) (int, error) {
	n, err := removeOver(ctx, s, bucketChatRules, func(r *storage.ChatRule) bool { return r.Expired(now) })
	if err != nil {
		return 0, fmt.Errorf("sweep chat rules: %w", err)
	}
	return n, nil
}
