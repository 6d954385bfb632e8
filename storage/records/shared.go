package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// Shared is a store in an engine that several daemons use. Beside what every store has, it
// keeps what those must have in common: it implements [storage.Sessions], [storage.Grants],
// [storage.Contents] and [storage.Revisions], and compares keys. A Store itself has none of
// these methods, because a daemon that finds them works as one of several.
type Shared struct{ *Store }

// NewShared returns a store in an engine that other daemons use too, for the node with a
// name. It owns the engine.
func NewShared(eng engine.Engine, node string, log zerolog.Logger) Shared {
	return Shared{New(eng, Options{Shared: true, Node: node, Log: log})}
}

// step runs a step that no audit entry describes.
func (s Shared) step(ctx context.Context, fn func(*change) error) error {
	return s.change(storage.WithoutAudit(ctx), fn)
}

// steps runs a function in steps until it reports that no more is left.
func (s Shared) steps(ctx context.Context, fn func(*change) (more bool, err error)) error {
	for {
		more := false
		err := s.step(ctx, func(c *change) (err error) {
			more, err = fn(c)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// mostAtOnce is the number of entries that one step of a longer work changes.
const mostAtOnce = 500

// ErrOtherKey means that the nodes that use the database have different keys.
var ErrOtherKey = errors.New("the other nodes that use the database have another key; copy their file to this node")

// CheckKey compares the fingerprint of a key with that of the first node that used
// the database, or records it if this is the first. The error matches ErrOtherKey if
// they differ: nodes with different keys could not read data that others have sealed or signed.
func (s Shared) CheckKey(ctx context.Context, name, fingerprint string) error {
	first, err := perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (string, error) {
		content := c.entry(tableKeys, []byte(name), 0)
		if content == nil {
			content = []byte(fingerprint)
			c.putEntry(tableKeys, []byte(name), content)
		}
		return string(content), nil
	})
	if err != nil {
		return wrapped(err, "compare the key with that of other nodes")
	}
	if first != fingerprint {
		return fmt.Errorf("%w (its fingerprint is %s, that of the file here %s)", ErrOtherKey, first, fingerprint)
	}
	return nil
}
