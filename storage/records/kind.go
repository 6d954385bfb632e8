package records

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// A kind is a kind of record without rules of its own, such as bans: its table, and what
// to know of its records.
type kind[R any] struct {
	table engine.Table
	key   func(*R) []byte
	canon func(R) (R, error)       // checks a record for put and returns it as it is stored
	most  int                      // how many there may be; 0: any number
	over  func(*R, time.Time) bool // whether a record has expired; nil: none does
	gone  func(*change, *R)        // removes what else there is of one that has expired; nil: nothing
}

// put stores records, each in place of one with the same key, all or none. The error is
// ErrFull if there would be too many.
func (k *kind[R]) put(ctx context.Context, s *Store, records ...R) error {
	records, keys := slices.Clone(records), make([][]byte, len(records))
	for i, r := range records {
		r, err := k.canon(r)
		if err != nil {
			return err
		}
		records[i], keys[i] = r, k.key(&r)
	}
	return s.change(ctx, func(c *change) error {
		k.load(c, keys)
		added := 0
		for i, key := range keys {
			if !c.has(k.table, key) {
				added++
			}
			c.put(k.table, key, records[i])
		}
		return k.count(c, added)
	})
}

// load loads what a step that changes the records under keys reads.
func (k *kind[R]) load(c *change, keys [][]byte) {
	all := append(keysIn(k.table, keys), k.number())
	if name := heldAs[k.table]; name != "" {
		all = append(all, engine.Key{Table: tableRevisions, Key: []byte(name)})
	}
	c.load(all...)
}

// number names the number of records of a kind with a limit. It is one entry of tableCounts,
// because the limit is exact; changes of such kinds are rare.
func (k *kind[R]) number() engine.Key { return countName(k.table).part(0) }

// count adds n to the number of records, and returns ErrFull if there are too many then.
// If nothing counted them yet, as in a file of an older version, their keys are counted.
func (k *kind[R]) count(c *change, n int) error {
	if k.most == 0 || n == 0 {
		return nil
	}
	if content := c.entry(tableCounts, k.number().Key, 8); content != nil {
		n += int(binary.BigEndian.Uint64(content))
	} else {
		n = c.count(k.table, nil, 0)
	}
	if n > k.most {
		return fmt.Errorf("%w: there may be %d", storage.ErrFull, k.most)
	}
	c.putEntry(tableCounts, k.number().Key, numberKey(uint64(n)))
	return nil
}

// get returns the record under a key, or ErrNotFound.
func (k *kind[R]) get(ctx context.Context, s *Store, key []byte) (R, error) {
	return fetch[R](ctx, s, k.table, key)
}

// remove removes the record under a key, or returns ErrNotFound.
func (k *kind[R]) remove(ctx context.Context, s *Store, key []byte) error {
	return s.change(ctx, func(c *change) error {
		k.load(c, [][]byte{key})
		if !c.remove(k.table, key) {
			return storage.ErrNotFound
		}
		return k.count(c, -1)
	})
}

// all yields the records in the order of their keys.
func (k *kind[R]) all(ctx context.Context, s *Store) iter.Seq2[R, error] {
	return iterate(ctx, s, whole(k.table), readRecord[R])
}

// sweep removes the records that have expired at now and returns how many there were.
// Damaged ones are not removed.
func (k *kind[R]) sweep(ctx context.Context, s *Store, now time.Time) (n int, err error) {
	over := func(r *R) ([]byte, bool) { return k.key(r), k.over(r, now) }
	drop := func(c *change, key []byte) (int, error) {
		r, err := get[R](c.view, k.table, key)
		if err != nil || !k.over(&r, now) {
			return 0, unlessDamage(err)
		}
		c.delete(k.table, key)
		if k.gone != nil {
			k.gone(c, &r)
		}
		return 1, k.count(c, -1)
	}
	return sweep(ctx, s, string(k.table), k.all(ctx, s), over, drop, func(key []byte) engine.Key { return engine.Key{Table: k.table, Key: key} })
}
