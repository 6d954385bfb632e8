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

// pageBytes ends a page after the record that exceeds this size.
const pageBytes = 1 << 20

// item is one step of an iteration.
type item[R any] struct {
	record R
	err    error
}

// paged yields the items of pages. Each page is read in one step, and yielded outside of any.
// page reads the one at a place, and returns the place of the next one, if there is more.
func paged[R, P any](ctx context.Context, s *Store, from P,
	page func(tx engine.Reader, at P) (items []item[R], next P, more bool, err error),
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		at := from
		for {
			var p struct { // one variable for the step, which costs less than several
				items []item[R]
				next  P
				more  bool
			}
			err := s.view(ctx, func(tx engine.Reader) (err error) {
				p.items, p.next, p.more, err = page(tx, at)
				return err
			})
			if err != nil {
				yield(*new(R), err)
				return
			}
			for _, it := range p.items {
				if !yield(it.record, it.err) {
					return
				}
			}
			if at = p.next; !p.more {
				return
			}
		}
	}
}

// A decoder returns the record of an entry. It shares no memory with it.
type decoder[R any] func(tx engine.Reader, e engine.Entry) (R, error)

// A need returns a key that a decoder will read for an entry.
type need func(e engine.Entry) engine.Key

// iterate yields the records of a range, in its order. Its limit is that of the whole.
// The needs of the entries of a page are loaded together.
func iterate[R any](ctx context.Context, s *Store, r engine.Range, read decoder[R], needs ...need) iter.Seq2[R, error] {
	return paged(ctx, s, r, func(tx engine.Reader, at engine.Range) (items []item[R], rest engine.Range, more bool, err error) {
		add := func(e engine.Entry) error {
			if items == nil {
				items = make([]item[R], 0, 8)
			}
			record, err := read(tx, e)
			if err != nil && !isDamage(err) {
				return err
			}
			if err != nil {
				err = fmt.Errorf("%s %q: %w", r.Table, e.Key, err)
			}
			items = append(items, item[R]{record, err})
			return nil
		}
		if len(needs) == 0 {
			rest, more, err = pageOf(tx, at, add)
			return items, rest, more, err
		}
		entries, rest, more, err := pageEntries(tx, at)
		if err == nil {
			err = loadNeeds(tx, entries, needs)
		}
		for i := 0; err == nil && i < len(entries); i++ {
			err = add(entries[i])
		}
		return items, rest, more, err
	})
}

// loadNeeds loads what the decoder of a page needs.
func loadNeeds(tx engine.Reader, entries []engine.Entry, needs []need) error {
	keys := make([]engine.Key, 0, len(entries)*len(needs))
	for _, e := range entries {
		for _, n := range needs {
			keys = append(keys, n(e))
		}
	}
	return tx.Load(keys...)
}

// pageOf calls use with the entries of the first page of a range, and returns what is left of
// it, and whether that may have more.
func pageOf(tx engine.Reader, r engine.Range, use func(engine.Entry) error) (rest engine.Range, more bool, err error) {
	part := firstPage(r)
	p := page{use: use}
	for e, err := range tx.Scan(part) {
		if !p.add(e, err) {
			break
		}
	}
	if p.err != nil || p.n == r.Limit && p.n > 0 || p.n < part.Limit && p.size <= pageBytes {
		return r, false, p.err
	}
	r.Limit = max(r.Limit-p.n, 0)
	if r.Backward {
		r.To = slices.Clone(p.last)
	} else {
		r.From = append(slices.Clone(p.last), 0)
	}
	return r, true, nil
}

// page is how far a page was read.
type page struct {
	use     func(engine.Entry) error
	n, size int
	last    []byte
	err     error
}

// add uses an entry and reports whether the page has room for more.
func (p *page) add(e engine.Entry, err error) bool {
	if p.err = err; err == nil {
		p.err = p.use(e)
	}
	p.n, p.size, p.last = p.n+1, p.size+len(e.Value), e.Key
	return p.err == nil && p.size <= pageBytes
}

// firstPage is the range that pageOf reads of a range.
func firstPage(r engine.Range) engine.Range {
	if r.Limit == 0 || r.Limit > engine.Page {
		r.Limit = engine.Page
	}
	return r
}

// pageEntries is pageOf that returns the entries.
func pageEntries(tx engine.Reader, r engine.Range) (entries []engine.Entry, rest engine.Range, more bool, err error) {
	rest, more, err = pageOf(tx, r, func(e engine.Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, rest, more, err
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
			return record, errNotIndexed
		}
		return read(tx, engine.Entry{Key: k, Value: v})
	}, to)
}

// errNotIndexed is the error for a record that only an index has.
var errNotIndexed = fmt.Errorf("%w: the index has a record that is missing", storage.ErrDamaged)

// lastID returns the id of 4 bytes that ends a key of an index, lastID64 that of 8 bytes, or
// the whole of a shorter key.
func lastID(key []byte) []byte   { return key[max(len(key)-4, 0):] }
func lastID64(key []byte) []byte { return key[max(len(key)-8, 0):] }

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

// sweep removes what is over among the records of a sequence: it calls drop with what over
// returns for them, sweepStep of them in one step, and returns the sum of its results. kind is
// for the error. The keys in needs are loaded for all items of a step together. Damaged records
// stay.
func sweep[R, T any](ctx context.Context, s *Store, kind string, records iter.Seq2[R, error], over func(*R) (T, bool),
	drop func(*change, T) (int, error), needs ...func(T) engine.Key,
) (total int, err error) {
	var items []T
	flush := func() error {
		n := 0
		err := s.change(ctx, func(c *change) (err error) {
			n, err = sweepPart(c, items, drop, needs)
			return err
		})
		if err == nil {
			items, total = items[:0], total+n
		}
		return err
	}
	for r, failure := range records {
		if isDamage(failure) {
			continue
		}
		if err = failure; err == nil {
			if it, gone := over(&r); gone {
				items = append(items, it)
			}
			if len(items) == sweepStep {
				err = flush()
			}
		}
		if err != nil {
			break
		}
	}
	if err == nil && len(items) > 0 {
		err = flush()
	}
	if err != nil {
		return total, fmt.Errorf("sweep %s: %w", kind, err)
	}
	return total, nil
}

// sweepPart is one step of a sweep. An item that is missing by now counts as none.
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
		if isMissing(err) {
			continue
		}
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

// getEntry returns the content of an entry, which has at least size bytes, nil if there is none.
func getEntry(tx engine.Reader, t engine.Table, key []byte, size int) ([]byte, error) {
	v, err := getValue(tx, t, key)
	if err != nil || v == nil {
		return nil, err
	}
	return openSized(t, engine.Entry{Key: key, Value: v}, size)
}

func isMissing(err error) bool { return errors.Is(err, storage.ErrNotFound) }

func isDamage(err error) bool { return errors.Is(err, storage.ErrDamaged) }

func isFull(err error) bool { return errors.Is(err, storage.ErrFull) }

// unlessDamage returns nil instead of an error about damage.
func unlessDamage(err error) error {
	if isDamage(err) {
		return nil
	}
	return err
}

// until yields records up to the first of which end is true.
func until[R any](records iter.Seq2[R, error], end func(*R) bool) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for r, err := range records {
			if err == nil && end(&r) || !yield(r, err) {
				return
			}
		}
	}
}
