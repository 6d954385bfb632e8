package bolt

import (
	"bytes"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// Scan implements [engine.Reader].
func (r *reader) Scan(of engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		t := r.table(of.Table)
		switch {
		case t == nil:
		case of.Backward:
			downwards(t.bucket, of, yield)
		default:
			upwards(t.bucket, of, yield)
		}
	}
}

// upwards yields the entries of a range from the lowest on.
func upwards(b *bbolt.Bucket, of engine.Range, yield func(engine.Entry, error) bool) {
	c := b.Cursor()
	n := 0
	for k, v := c.Seek(of.From); k != nil && (of.To == nil || bytes.Compare(k, of.To) < 0) && yield(engine.Entry{Key: k, Value: v}, nil); k, v = c.Next() {
		if n++; n == of.Limit {
			return
		}
	}
}

// downwards yields the entries of a range from the highest on.
//
// A transaction that deleted entries has pages without any. There bbolt's Prev returns
// nothing, as it does at the beginning of the bucket, and Last never ends if all pages are
// such. Below the lowest key neither is called.
func downwards(b *bbolt.Bucket, of engine.Range, yield func(engine.Entry, error) bool) {
	lowest, _ := b.Cursor().First()
	if lowest == nil || of.To != nil && bytes.Compare(lowest, of.To) >= 0 {
		return
	}
	c := b.Cursor()
	n := 0
	for k, v := highest(c, of.To); bytes.Compare(k, of.From) >= 0 && yield(engine.Entry{Key: k, Value: v}, nil); k, v = previous(c) {
		if n++; n == of.Limit || bytes.Equal(k, lowest) {
			return
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
func lastKey(b *bbolt.Bucket) (last []byte) {
	downwards(b, engine.Range{}, func(e engine.Entry, _ error) bool {
		last = e.Key
		return false
	})
	return last
}
