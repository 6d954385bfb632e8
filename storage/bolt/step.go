package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// A reader is a transaction as a step sees it that only reads.
type reader struct {
	tx     *bbolt.Tx
	opened []table
	first  [2]table // room for the first ones
}

// A table is the bucket of a table that a transaction uses, kept because bbolt searches for it by its
// name each time, and makes a cursor for each Get.
type table struct {
	name   engine.Table
	bucket *bbolt.Bucket
	asked  bool          // Get was called
	at     *bbolt.Cursor // nil until the second Get
}

var _ engine.Reader = (*reader)(nil)

// table returns the table with a name, nil if there is none. It is valid until the next call.
func (r *reader) table(name engine.Table) *table {
	for i := range r.opened {
		if r.opened[i].name == name {
			return &r.opened[i]
		}
	}
	if b := r.tx.Bucket([]byte(name)); b != nil {
		return r.open(name, b)
	}
	return nil
}

func (r *reader) open(name engine.Table, b *bbolt.Bucket) *table {
	if r.opened == nil {
		r.opened = r.first[:0]
	}
	r.opened = append(r.opened, table{name: name, bucket: b})
	return &r.opened[len(r.opened)-1]
}

// seek returns the entry with a key, or the first one after it, and where it is.
func (t *table) seek(key []byte) (k, v []byte, at *bbolt.Cursor) {
	if t.at == nil {
		t.at = t.bucket.Cursor()
	}
	k, v = t.at.Seek(key)
	return k, v, t.at
}

// Get implements [engine.Reader].
func (r *reader) Get(name engine.Table, key []byte) ([]byte, error) {
	t := r.table(name)
	if t == nil {
		return nil, nil
	}
	if !t.asked { // many steps read one key
		t.asked = true
		return t.bucket.Get(key), nil
	}
	if k, v, _ := t.seek(key); bytes.Equal(k, key) {
		return v, nil
	}
	return nil, nil
}

// Load implements [engine.Reader]: there is nothing to fetch.
func (*reader) Load(...engine.Key) error { return nil }

// LoadRanges implements [engine.Reader].
func (*reader) LoadRanges(...engine.Range) error { return nil }

// Last implements [engine.Reader].
func (r *reader) Last(t engine.Table) (uint64, error) { return lastNumber(r.tx, t) }

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
	return &change{reader: reader{tx: tx}, last: make(map[engine.Table][]byte)}
}

// appendFill is how full pages get to which keys are only added at the end. By
// bbolt's default they would be half empty for ever.
const appendFill = 0.9

// Put implements [engine.Tx]. If the key comes after all others, pages that the
// transaction splits are filled up.
func (c *change) Put(name engine.Table, key, value []byte) error {
	t := c.table(name)
	if t == nil {
		b, err := c.tx.CreateBucket([]byte(name))
		if err != nil {
			return err
		}
		t = c.open(name, b)
	}
	c.wrote = true
	last, known := c.last[name]
	if !known {
		last = lastKey(t.bucket)
		c.last[name] = last
	}
	if bytes.Compare(key, last) > 0 {
		t.bucket.FillPercent = appendFill
		c.last[name] = bytes.Clone(key)
	}
	if value == nil {
		value = []byte{} // nil would be no value
	}
	return t.bucket.Put(key, value)
}

// Delete implements [engine.Tx].
func (c *change) Delete(name engine.Table, key []byte) error {
	t := c.table(name)
	if t == nil {
		return nil
	}
	k, _, at := t.seek(key)
	if !bytes.Equal(k, key) || k == nil {
		return nil
	}
	c.wrote = true
	return at.Delete()
}

// Vacant implements [engine.Tx]: Get costs nothing.
func (c *change) Vacant(engine.Table, []byte) error { return nil }

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

// lastNumber returns the last number of a table, 0 if there is none yet.
func lastNumber(tx *bbolt.Tx, t engine.Table) (uint64, error) {
	b := tx.Bucket([]byte(bucketSequences))
	if b == nil {
		return 0, fmt.Errorf("%w: bucket %s is missing", engine.ErrDamaged, bucketSequences)
	}
	value := b.Get([]byte(t))
	if value == nil {
		return 0, nil
	}
	content, err := engine.Unseal([]byte(t), value)
	if err == nil && len(content) != 8 {
		err = fmt.Errorf("%w: %d bytes", engine.ErrDamaged, len(content))
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", bucketSequences, t, err)
	}
	return binary.BigEndian.Uint64(content), nil
}

// putNumber stores the last number of a table, of which lastNumber found none that is
// higher.
func putNumber(tx *bbolt.Tx, t engine.Table, n uint64) error {
	return tx.Bucket([]byte(bucketSequences)).Put([]byte(t), engine.Seal([]byte(t), binary.BigEndian.AppendUint64(nil, n)))
}
