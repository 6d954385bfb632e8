package records

import (
	"context"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// follow yields the records of a table to which the keys of a range of an index lead. key
// returns that of a record.
func follow[R any](ctx context.Context, s *Store, index engine.Range, t engine.Table, key func([]byte) []byte, read decoder[R]) iter.Seq2[R, error] {
	to := func(e engine.Entry) engine.Key { return engine.Key{Table: t, Key: key(e.Key)} }
	return iterate(ctx, s, index, func(tx engine.Reader, e engine.Entry) (record R, err error) {
		k := to(e).Key
		v, err := tx.Get(t, k)
		switch {
		case err != nil:
			return record, err
		case v == nil:
			return record, fmt.Errorf("%w: the index has a record that is missing", storage.ErrDamaged)
		}
		return read(tx, engine.Entry{Key: k, Value: v})
	}, to)
}

// lastID64 returns the id of 8 bytes that ends a key of an index, or the whole of a shorter key.
func lastID64(key []byte) []byte { return key[max(len(key)-8, 0):] }
