package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

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

var _ storage.Revisions = Shared{}

// heldAs has the names under which daemons hold tables in memory.
var heldAs = map[engine.Table]string{
	tableBans: storage.TableBans, tableChatRules: storage.TableChatRules,
	tableGames: storage.TableGames, tableRooms: storage.TableGames,
	tableAddedServers: storage.TableListings, tableHiddenServers: storage.TableListings,
	tableMotds: storage.TableNews, tablePatches: storage.TableNews,
	tablePlayReports: storage.TablePlayReports, tableProductKeys: storage.TableKeys,
}

// changes records that the step changes a table.
func (c *change) changes(t engine.Table) {
	c.wrote = true
	if name := heldAs[t]; name != "" && !slices.Contains(c.held, name) {
		c.held = append(c.held, name)
	}
}

// raiseRevisions raises the numbers of the tables that daemons hold in memory and that the
// step changes.
func (c *change) raiseRevisions() {
	for _, name := range c.held {
		n := uint64(0)
		if old := c.entry(tableRevisions, []byte(name), 8); old != nil {
			n = binary.BigEndian.Uint64(old)
		}
		c.putEntry(tableRevisions, []byte(name), numberKey(n+1))
	}
}

// Revisions is described in [storage.Revisions].
func (s Shared) Revisions(ctx context.Context) (map[string]int64, error) {
	return look(ctx, s.Store, func(v *view) map[string]int64 {
		revisions := make(map[string]int64)
		for e := range v.entries(whole(tableRevisions), 8) {
			revisions[string(e.Key)] = int64(binary.BigEndian.Uint64(e.Value))
		}
		return revisions
	})
}
