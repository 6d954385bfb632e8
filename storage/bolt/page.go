package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// An iteration reads a page in one transaction and yields it outside of any.
const (
	pageRecords = 256     // most records in a page
	pageBytes   = 1 << 20 // a page ends after the record that exceeds this size
)

// item is one step of an iteration.
type item[R any] struct {
	record R
	err    error
}

// A reader returns the record of a key and its value. It shares no memory with
// them.
type reader[R any] func(tx *bbolt.Tx, k, v []byte) (R, error)

// iterate yields the records under the keys of bucket that begin with prefix,
// in key order.
func iterate[R any](ctx context.Context, s *Store, bucket string, prefix []byte, read reader[R]) iter.Seq2[R, error] {
	return iterateFrom(ctx, s, bucket, prefix, prefix, read)
}

// iterateFrom is iterate from the key first on.
func iterateFrom[R any](ctx context.Context, s *Store, bucket string, prefix, first []byte, read reader[R]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		from := first
		for from != nil {
			var items []item[R]
			err := s.view(ctx, func(tx *bbolt.Tx) error {
				items, from = readPage(tx, bucket, prefix, from, read)
				return nil
			})
			if err != nil {
				var zero R
				yield(zero, err)
				return
			}
			for _, it := range items {
				if !yield(it.record, it.err) {
					return
				}
			}
		}
	}
}

// readPage reads one page from the key from on. next is the start of the
// following page, nil if there is none.
func readPage[R any](tx *bbolt.Tx, bucket string, prefix, from []byte, read reader[R]) (items []item[R], next []byte) {
	size := 0
	c := tx.Bucket([]byte(bucket)).Cursor()
	for k, v := c.Seek(from); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if len(items) == pageRecords || size > pageBytes {
			return items, slices.Clone(k)
		}
		record, err := read(tx, k, v)
		if err != nil {
			err = fmt.Errorf("%s %q: %w", bucket, k, err)
		}
		items = append(items, item[R]{record, err})
		size += len(v)
	}
	return items, nil
}

// readRecord is the read function for a bucket that holds the records itself.
func readRecord[R any](_ *bbolt.Tx, k, v []byte) (record R, err error) {
	if err := checkKey(k, v); err != nil {
		return record, err
	}
	return decode[R](v)
}

// readByID is the reader for an index whose keys end with the id of a record of
// bucket.
func readByID[R any](bucket string) reader[R] {
	return func(tx *bbolt.Tx, k, _ []byte) (R, error) { return get[R](tx, bucket, k[len(k)-4:]) }
}

// eachReadable calls use with the records that are not damaged. It returns the
// first other error.
func eachReadable[R any](records iter.Seq2[R, error], use func(R)) error {
	for r, err := range records {
		switch {
		case isDamage(err):
		case err != nil:
			return err
		default:
			use(r)
		}
	}
	return nil
}

// sweepStep is the number of items that a sweep changes in one step.
const sweepStep = 100

// sweep calls drop with all items, sweepStep of them in one step, and returns
// the sum of its results. kind is for the error.
func sweep[T any](ctx context.Context, s *Store, kind string, items []T, drop func(*change, T) (int, error)) (total int, err error) {
	for part := range slices.Chunk(items, sweepStep) {
		n := 0
		err := s.change(ctx, func(c *change) error {
			n = 0
			for _, it := range part {
				dropped, err := drop(c, it)
				if err != nil {
					return err
				}
				n += dropped
			}
			return nil
		})
		if err != nil {
			return total, fmt.Errorf("sweep %s: %w", kind, err)
		}
		total += n
	}
	return total, nil
}

// fetch returns the record under a key, read in a transaction of its own, or
// ErrNotFound.
func fetch[R any](ctx context.Context, s *Store, bucket string, key []byte) (record R, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error { return getInto(tx, bucket, key, &record) })
	return record, err
}

// get returns the record under a key, or ErrNotFound.
func get[R any](tx *bbolt.Tx, bucket string, key []byte) (record R, err error) {
	err = getInto(tx, bucket, key, &record)
	return record, err
}

// getInto is get with decodeInto.
func getInto[R any](tx *bbolt.Tx, bucket string, key []byte, record *R) error {
	v := tx.Bucket([]byte(bucket)).Get(key)
	if v == nil {
		*record = *new(R)
		return storage.ErrNotFound
	}
	err := checkKey(key, v)
	if err == nil {
		err = decodeInto(v, record)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", bucket, key, err)
	}
	return nil
}

// put stores a record under a key.
func put(tx *bbolt.Tx, bucket string, key []byte, record any) error {
	value, err := encode(key, record)
	if err != nil {
		return err
	}
	return tx.Bucket([]byte(bucket)).Put(key, value)
}

// remove deletes a key and reports whether it was there.
func remove(tx *bbolt.Tx, bucket string, key []byte) (bool, error) {
	b := tx.Bucket([]byte(bucket))
	if b.Get(key) == nil {
		return false, nil
	}
	return true, b.Delete(key)
}

// nextRev returns the revision for a record that is about to be stored: given
// is the caller's revision, found and err are the result of get for its key. A
// damaged record cannot be replaced, only deleted.
func nextRev(tx *bbolt.Tx, bucket, index string, given, found storage.Rev, err error) (storage.Rev, error) {
	missing := errors.Is(err, storage.ErrNotFound)
	switch {
	case err != nil && !missing:
		return 0, err
	case given == 0 && !missing:
		return 0, &storage.TakenError{Index: index}
	case given != 0 && missing:
		return 0, storage.ErrNotFound
	case given != 0 && given != found:
		return 0, storage.ErrConflict
	}
	n, err := tx.Bucket([]byte(bucket)).NextSequence()
	return storage.Rev(n), err
}
