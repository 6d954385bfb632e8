package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// chatRuleKey is the key of a chat rule, which orders rules as
// storage.ChatRuleKey.Compare does: its kind, its profile (0 for an address), the length
// of the address in bytes, the address, the length of the prefix, and the channel. k is
// canonical.
func chatRuleKey(k storage.ChatRuleKey) []byte {
	key := binary.BigEndian.AppendUint32([]byte{byte(k.Kind)}, uint32(k.Profile))
	if k.Profile == 0 {
		address := k.Prefix.Addr().AsSlice()
		key = append(append(append(key, byte(len(address))), address...), byte(k.Prefix.Bits()))
	}
	return append(key, k.Channel...)
}

// keyedRule is a chat rule with its key, which is known if the rule is damaged.
type keyedRule struct {
	storage.ChatRule

	key []byte
}

// scanChatRule reads the columns key and doc.
func scanChatRule(row pgx.Row, r *keyedRule) error {
	var doc []byte
	if err := row.Scan(&r.key, &doc); err != nil {
		return err
	}
	return decode(doc, &r.ChatRule, "chat rule", fmt.Sprintf("%q", r.key))
}

// PutChatRule is described in [storage.ChatRules].
func (s *Store) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	r, err := r.Canonical()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.putSmall(ctx, "chat_rules", storage.MaxChatRules, func(b *pgx.Batch, inserted func(pgx.Rows) error) {
		b.Queue(`INSERT INTO chat_rules (key, doc) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET doc = excluded.doc
			RETURNING xmax = 0`, chatRuleKey(r.ChatRuleKey), doc).Query(inserted)
	})
}

// RemoveChatRule is described in [storage.ChatRules].
func (s *Store) RemoveChatRule(ctx context.Context, k storage.ChatRuleKey) error {
	k, err := k.Canonical()
	if err != nil {
		return err
	}
	return s.removeSmall(ctx, "chat_rules", `key = $1`, chatRuleKey(k))
}

// ChatRules is described in [storage.ChatRules].
func (s *Store) ChatRules(ctx context.Context) iter.Seq2[storage.ChatRule, error] {
	return func(yield func(storage.ChatRule, error) bool) {
		for r, err := range s.chatRulePages(ctx) {
			if !yield(r.ChatRule, err) {
				return
			}
		}
	}
}

func (s *Store) chatRulePages(ctx context.Context) iter.Seq2[keyedRule, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *keyedRule) ([]item[keyedRule], error) {
		from := []byte{}
		if last != nil {
			from = last.key
		}
		rows, err := q.Query(ctx, `SELECT key, doc FROM chat_rules WHERE key > $1 ORDER BY key LIMIT $2`, from, pageRecords)
		return collect(rows, err, scanChatRule)
	})
}

// SweepChatRules is described in [storage.ChatRules].
func (s *Store) SweepChatRules(ctx context.Context, now time.Time) (n int, err error) {
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		rows, err := c.Query(ctx, `SELECT key, doc FROM chat_rules ORDER BY key FOR UPDATE`) // at most MaxChatRules
		all, err := collect(rows, err, scanChatRule)
		if err != nil {
			return err
		}
		var over [][]byte
		for i := range all {
			if r := &all[i].record; all[i].err == nil && r.Expired(now) {
				over = append(over, r.key)
			}
		}
		n = len(over)
		if c.idle = n == 0; c.idle {
			return nil
		}
		_, err = dropSmall(ctx, c, "chat_rules", `key = ANY($1)`, over)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep chat rules: %w", err)
	}
	return n, nil
}
