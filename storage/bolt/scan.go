package bolt

import (
	"bytes"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// Scan implements [engine.Reader].
func (r reader) Scan(of engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		b := r.table(of.Table)
		if b == nil {
			return
		}
		entries := upwards
		if of.Backward {
			entries = downwards
		}
		n := 0
		for k, v := range entries(b, of.From, of.To) {
			if !of.Contains(k) || !yield(engine.Entry{Key: k, Value: v}, nil) {
				return
			}
			if n++; n == of.Limit {
				return
			}
		}
	}
}

// upwards yields the entries of a bucket from a key on.
func upwards(b *bbolt.Bucket, from, _ []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		for k, v := c.Seek(from); k != nil && yield(k, v); k, v = c.Next() {
		}
	}
}

// downwards yields the entries of a bucket below a key, nil: all, from the highest on.
//
// A transaction that deleted entries has pages without any. There bbolt's Prev returns
// nothing, as it does at the beginning of the bucket, and Last never ends if all pages are
// such. Below the lowest key neither is called.
func downwards(b *bbolt.Bucket, _, to []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		lowest, _ := b.Cursor().First()
		if lowest == nil || to != nil && bytes.Compare(lowest, to) >= 0 {
			return
		}
		c := b.Cursor()
		for k, v := highest(c, to); yield(k, v) && !bytes.Equal(k, lowest); k, v = previous(c) {
		}
	}
}

// highest moves a cursor to the last entry below a key, nil: to the last one. It must be
// there.
func highest(c *bbolt.Cursor, to []byte) (k, v []byte) {
	if to == nil {
		return c.Last()
	}
	if k, _ := c.Seek(to); k == nil {
		return c.Last()
	}
	return previous(c)
}

// previous moves a cursor down to the next entry, which must be there.
func previous(c *bbolt.Cursor) (k, v []byte) {
	for k == nil {
		k, v = c.Prev()
	}
	return k, v
}

// lastKey returns the highest key of a bucket, nil if there is none.
func lastKey(b *bbolt.Bucket) []byte {
	for k := range downwards(b, nil, nil) {
		return k
	}
	return nil
}
