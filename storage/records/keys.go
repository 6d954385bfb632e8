package records

import (
	"context"
	"errors"
	"fmt"
)

// ErrOtherKey means that the nodes that use the database have different keys.
var ErrOtherKey = errors.New("the other nodes that use the database have another key; copy their file to this node")

// CheckKey compares the fingerprint of a key with that of the first node that used
// the database, or records it if this is the first. The error matches ErrOtherKey if
// they differ: nodes with different keys could not read data that others have sealed or signed.
func (s Shared) CheckKey(ctx context.Context, name, fingerprint string) error {
	var first string
	err := s.step(ctx, func(c *change) error {
		content := c.entry(tableKeys, []byte(name), 0)
		if first = string(content); content == nil {
			first = fingerprint
			c.putEntry(tableKeys, []byte(name), []byte(fingerprint))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare the key with that of other nodes: %w", err)
	}
	if first != fingerprint {
		return fmt.Errorf("%w (its fingerprint is %s, that of the file here %s)", ErrOtherKey, first, fingerprint)
	}
	return nil
}
