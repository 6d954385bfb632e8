package postgres

import (
	"context"
	"errors"
	"fmt"
)

// ErrOtherKey means that the secrets in the database are sealed with another key.
var ErrOtherKey = errors.New("the database belongs to another sealing key; copy the key file of the other nodes to this one")

// CheckSealKey compares the fingerprint of this node's sealing key with that of
// the first node that used the database, or records it if this is the first. The
// error matches ErrOtherKey if they differ: nodes with different keys could not
// read the secrets of each other's accounts.
func (s *Store) CheckSealKey(ctx context.Context, fingerprint string) error {
	var first string
	err := s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		return c.QueryRow(ctx, `INSERT INTO settings (name, value) VALUES ('seal_key', $1)
			ON CONFLICT (name) DO UPDATE SET value = settings.value RETURNING value`, fingerprint).Scan(&first)
	})
	if err != nil {
		return fmt.Errorf("check the sealing key: %w", err)
	}
	if first != fingerprint {
		return fmt.Errorf("%w (fingerprint %s, here %s)", ErrOtherKey, first, fingerprint)
	}
	return nil
}
