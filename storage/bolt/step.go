package bolt

import (
	"bytes"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// A reader is a transaction as a step sees it that only reads.
type reader struct{ tx *bbolt.Tx }

var _ engine.Reader = reader{}

// table returns the bucket of a table, nil if there is none.
func (r reader) table(t engine.Table) *bbolt.Bucket { return r.tx.Bucket([]byte(t)) }

// Get implements [engine.Reader].
func (r reader) Get(t engine.Table, key []byte) ([]byte, error) {
	if b := r.table(t); b != nil {
		return b.Get(key), nil
	}
	return nil, nil
}

// Load implements [engine.Reader]: there is nothing to fetch.
func (reader) Load(...engine.Key) error { return nil }

// LoadRanges implements [engine.Reader].
func (reader) LoadRanges(...engine.Range) error { return nil }

// Last implements [engine.Reader].
func (r reader) Last(t engine.Table) (uint64, error) { return lastNumber(r.tx, t) }

// A change is the transaction of a group as its steps see it, one after the other. They
// write only through its methods, so that the group knows which step wrote.
type change struct {
	reader
	wrote bool                    // by the present step
	last  map[engine.Table][]byte // highest key of each table with a Put
}

var _ engine.Tx = (*change)(nil)

// newChange returns the change of a transaction.
func newChange(tx *bbolt.Tx) *change {
	return &change{reader: reader{tx}, last: make(map[engine.Table][]byte)}
}

// appendFill is how full pages get to which keys are only added at the end. By
// bbolt's default they would be half empty for ever.
const appendFill = 0.9

// Put implements [engine.Tx]. If the key comes after all others, pages that the
// transaction splits are filled up.
func (c *change) Put(t engine.Table, key, value []byte) error {
	b := c.table(t)
	if b == nil {
		var err error
		if b, err = c.tx.CreateBucket([]byte(t)); err != nil {
			return err
		}
	}
	c.wrote = true
	last, known := c.last[t]
	if !known {
		last = lastKey(b)
		c.last[t] = last
	}
	if bytes.Compare(key, last) > 0 {
		b.FillPercent = appendFill
		c.last[t] = bytes.Clone(key)
	}
	return b.Put(key, append(make([]byte, 0, len(value)), value...)) // not nil, which would be no value
}

// Delete implements [engine.Tx].
func (c *change) Delete(t engine.Table, key []byte) error {
	b := c.table(t)
	if b == nil {
		return nil
	}
	at := b.Cursor()
	if k, _ := at.Seek(key); !bytes.Equal(k, key) || k == nil {
		return nil
	}
	c.wrote = true
	return at.Delete()
}

// Next implements [engine.Tx].
func (c *change) Next(t engine.Table) (uint64, error) {
	n, err := c.Last(t)
	if err != nil {
		return 0, err
	}
	c.wrote = true
	return n + 1, putNumber(c.tx, t, n+1)
}

// Raise implements [engine.Tx].
func (c *change) Raise(t engine.Table, n uint64) error {
	last, err := c.Last(t)
	if err != nil || n <= last {
		return err
	}
	c.wrote = true
	return putNumber(c.tx, t, n)
}
