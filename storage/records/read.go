package records

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// An iteration reads a page in one step and yields it outside of any.
const (
	pageRecords = 256     // most records in a page
	pageBytes   = 1 << 20 // a page ends after the record that exceeds this size
)

// item is one step of an iteration.
type item[R any] struct {
	record R
	err    error
}

// A decoder returns the record of an entry. It shares no memory with it.
type decoder[R any] func(tx engine.Reader, e engine.Entry) (R, error)

// A need returns a key that a decoder will read for an entry.
type need func(e engine.Entry) engine.Key

// iterate yields the records of a range, in its order. Its limit is that of the whole.
// The needs of the entries of a page are loaded together.
func iterate[R any](ctx context.Context, s *Store, r engine.Range, read decoder[R], needs ...need) iter.Seq2[R, error] {
	return iteratePages(ctx, s, r, func(engine.Reader) decoder[R] { return read }, needs...)
}

// iteratePages is iterate with a decoder for each page, which is used in one step, in the
// order of the range.
func iteratePages[R any](ctx context.Context, s *Store, r engine.Range, page func(engine.Reader) decoder[R], needs ...need) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		rest, more := r, true
		for more {
			var items []item[R]
			at := rest
			err := s.view(ctx, func(tx engine.Reader) (err error) {
				items, rest, more, err = readPage(tx, at, page(tx), needs)
				return err
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

// readPage reads one page from the beginning of a range. rest is what follows, if there is
// more.
func readPage[R any](tx engine.Reader, r engine.Range, read decoder[R], needs []need,
) (items []item[R], rest engine.Range, more bool, err error) {
	entries, more, err := pageOf(tx, r)
	if err == nil {
		err = loadNeeds(tx, entries, needs)
	}
	if err != nil {
		return nil, r, false, err
	}
	for _, e := range entries { // after the scan: a decoder may read too
		record, err := read(tx, e)
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return nil, r, false, err
		}
		if err != nil {
			err = fmt.Errorf("%s %q: %w", r.Table, e.Key, err)
		}
		items = append(items, item[R]{record, err})
	}
	if n := len(entries); n > 0 {
		r = following(r, entries[n-1].Key, n)
	}
	return items, r, more, nil
}

// pageOf returns the entries of the first page of a range, and whether there may be more.
func pageOf(tx engine.Reader, r engine.Range) (entries []engine.Entry, more bool, err error) {
	part, size := r, 0
	if part.Limit == 0 || part.Limit > pageRecords {
		part.Limit = pageRecords
	}
	for e, err := range tx.Scan(part) {
		if err != nil {
			return nil, false, err
		}
		entries = append(entries, e)
		if size += len(e.Value); size > pageBytes {
			break
		}
	}
	full := len(entries) == part.Limit || size > pageBytes
	return entries, full && len(entries) != r.Limit, nil
}

// loadNeeds loads what the decoder of a page needs.
func loadNeeds(tx engine.Reader, entries []engine.Entry, needs []need) error {
	if len(entries) == 0 || len(needs) == 0 {
		return nil
	}
	keys := make([]engine.Key, 0, len(entries)*len(needs))
	for _, e := range entries {
		for _, n := range needs {
			keys = append(keys, n(e))
		}
	}
	return tx.Load(keys...)
}

// following returns what is left of a range after n entries of which key was the last.
func following(r engine.Range, key []byte, n int) engine.Range {
	if r.Limit > 0 {
		r.Limit -= n
	}
	if r.Backward {
		r.To = slices.Clone(key)
	} else {
		r.From = append(slices.Clone(key), 0)
	}
	return r
}

// whole is the range of all keys of a table.
func whole(t engine.Table) engine.Range { return engine.Range{Table: t} }

// readRecord is the decoder for a table that holds the records itself.
func readRecord[R any](_ engine.Reader, e engine.Entry) (record R, err error) {
	if err := checkKey(e.Key, e.Value); err != nil {
		return record, err
	}
	return decode[R](e.Value)
}

// iterateByID yields the records of a table whose ids end the keys of a range of an index.
func iterateByID[R any](ctx context.Context, s *Store, index engine.Range, t engine.Table) iter.Seq2[R, error] {
	id := func(e engine.Entry) engine.Key { return engine.Key{Table: t, Key: e.Key[len(e.Key)-4:]} }
	read := func(tx engine.Reader, e engine.Entry) (R, error) {
		record, err := get[R](tx, t, id(e).Key)
		if errors.Is(err, storage.ErrNotFound) {
			err = fmt.Errorf("%w: the index has a record that is missing", storage.ErrDamaged)
		}
		return record, err
	}
	return iterate(ctx, s, index, read, id)
}

// keysOf returns copies of the keys of a range.
func keysOf(tx engine.Reader, r engine.Range) (keys [][]byte, err error) {
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, slices.Clone(e.Key))
	}
	return keys, nil
}

// keysIn names keys of a table that may be in it, to load them.
func keysIn(t engine.Table, keys [][]byte) []engine.Key {
	all := make([]engine.Key, 0, len(keys))
	for _, key := range keys {
		if possible(key) {
			all = append(all, engine.Key{Table: t, Key: key})
		}
	}
	return all
}

// possible reports whether a table can have a key, which may come from a client.
func possible(key []byte) bool { return len(key) > 0 && len(key) <= engine.MaxKey }

// first returns the first entry of a range; its key is nil if there is none.
func first(tx engine.Reader, r engine.Range) (engine.Entry, error) {
	r.Limit = 1
	for e, err := range tx.Scan(r) {
		return e, err
	}
	return engine.Entry{}, nil
}

// prefixUpTo is the range of the first keys with a prefix, up to most; 0: all.
func prefixUpTo(t engine.Table, prefix []byte, most int) engine.Range {
	r := engine.Prefix(t, prefix)
	r.Limit = most
	return r
}

// count returns how many keys begin with prefix, up to most.
func count(tx engine.Reader, t engine.Table, prefix []byte, most int) (n int, err error) {
	for _, err := range tx.Scan(prefixUpTo(t, prefix, most)) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// has reports whether a table has a key.
func has(tx engine.Reader, t engine.Table, key []byte) (bool, error) {
	v, err := getValue(tx, t, key)
	return v != nil, err
}

// getValue is Get for a key that may come from a client: nothing is stored under one that
// no table can have.
func getValue(tx engine.Reader, t engine.Table, key []byte) ([]byte, error) {
	if !possible(key) {
		return nil, nil
	}
	return tx.Get(t, key)
}

// eachReadable calls use with the records that are not damaged. It returns the
// first other error.
func eachReadable[R any](records iter.Seq2[R, error], use func(R)) error {
	for r, err := range records {
		switch {
		case errors.Is(err, storage.ErrDamaged):
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
// the sum of its results. kind is for the error. The keys in needs are loaded for all
// items of a step together.
func sweep[T any](ctx context.Context, s *Store, kind string, items []T, drop func(*change, T) (int, error), needs ...func(T) engine.Key,
) (total int, err error) {
	for part := range slices.Chunk(items, sweepStep) {
		n := 0
		err := s.change(ctx, func(c *change) (err error) {
			n, err = sweepPart(c, part, drop, needs)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("sweep %s: %w", kind, err)
		}
		total += n
	}
	return total, nil
}

// sweepPart is one step of a sweep.
func sweepPart[T any](c *change, part []T, drop func(*change, T) (int, error), needs []func(T) engine.Key) (total int, err error) {
	var keys []engine.Key
	for _, need := range needs {
		for _, it := range part {
			keys = append(keys, need(it))
		}
	}
	if err := c.Load(keys...); err != nil {
		return 0, err
	}
	for _, it := range part {
		n, err := drop(c, it)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// fetch returns the record under a key, read in a step of its own, or ErrNotFound.
func fetch[R any](ctx context.Context, s *Store, t engine.Table, key []byte) (record R, err error) {
	err = s.view(ctx, func(tx engine.Reader) error { return getInto(tx, t, key, &record) })
	return record, err
}

// get returns the record under a key, or ErrNotFound.
func get[R any](tx engine.Reader, t engine.Table, key []byte) (record R, err error) {
	err = getInto(tx, t, key, &record)
	return record, err
}

// getInto is get with decodeInto.
func getInto[R any](tx engine.Reader, t engine.Table, key []byte, record *R) error {
	v, err := getValue(tx, t, key)
	switch {
	case err != nil:
		*record = *new(R)
		return err
	case v == nil:
		*record = *new(R)
		return storage.ErrNotFound
	}
	if err = checkKey(key, v); err == nil {
		err = decodeInto(v, record)
	}
	if err != nil {
		return fmt.Errorf("%s %q: %w", t, key, err)
	}
	return nil
}

// getEntry returns the content of an entry, nil if there is none. It must have size bytes,
// unless size is 0.
func getEntry(tx engine.Reader, t engine.Table, key []byte, size int) ([]byte, error) {
	v, err := getValue(tx, t, key)
	if err != nil || v == nil {
		return nil, err
	}
	content, err := openEntry(key, v)
	if err == nil && size > 0 && len(content) != size {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(content))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", t, key, err)
	}
	return content, nil
}
