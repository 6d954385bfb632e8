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
func paged[R, P any](ctx context.Context, s *Store, from P, page func(v *view, at P) (items []item[R], next P, more bool)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		p := struct { // one variable for the steps, which costs less than several
			at    P
			items []item[R]
			next  P
			more  bool
		}{at: from}
		for {
			err := s.view(ctx, func(v *view) error {
				p.items, p.next, p.more = page(v, p.at)
				return nil
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
			if p.at = p.next; !p.more {
				return
			}
		}
	}
}

// A decoder returns the record of an entry. It shares no memory with it.
type decoder[R any] func(v *view, e engine.Entry) (R, error)

// A need returns a key that a decoder will read for an entry.
type need func(e engine.Entry) engine.Key

// iterate yields the records of a range, in its order. Its limit is that of the whole.
// The needs of the entries of a page are loaded together.
func iterate[R any](ctx context.Context, s *Store, r engine.Range, read decoder[R], needs ...need) iter.Seq2[R, error] {
	return paged(ctx, s, r, func(v *view, at engine.Range) (items []item[R], rest engine.Range, more bool) {
		add := func(e engine.Entry) bool {
			if items == nil {
				items = make([]item[R], 0, 8)
			}
			record, err := read(v, e)
			if damage := v.damage(); damage != nil {
				err = damage
			}
			if err != nil && !isDamage(err) {
				return !v.failed(err)
			}
			items = append(items, item[R]{record, about(r.Table, e.Key, err)})
			return v.err == nil
		}
		if len(needs) == 0 {
			rest, more = pageOf(v, at, add)
			return items, rest, more
		}
		entries, rest, more := pageEntries(v, at)
		loadNeeds(v, entries, needs)
		for i := 0; v.err == nil && i < len(entries); i++ {
			add(entries[i])
		}
		return items, rest, more
	})
}

// loadNeeds loads what the decoder of a page needs.
func loadNeeds(v *view, entries []engine.Entry, needs []need) {
	keys := make([]engine.Key, 0, len(entries)*len(needs))
	for _, e := range entries {
		for _, n := range needs {
			keys = append(keys, n(e))
		}
	}
	v.load(keys...)
}

// pageOf calls use with the entries of the first page of a range until it returns false. It
// returns what is left of the range, and whether that may have more.
func pageOf(v *view, r engine.Range, use func(engine.Entry) bool) (rest engine.Range, more bool) {
	part := firstPage(r)
	var read struct {
		n, size int
		last    []byte
	}
	for e := range v.scan(part) {
		read.n, read.size, read.last = read.n+1, read.size+len(e.Value), e.Key
		if !use(e) || read.size > pageBytes {
			break
		}
	}
	if v.err != nil || read.n == r.Limit && read.n > 0 || read.n < part.Limit && read.size <= pageBytes {
		return r, false
	}
	r.Limit = max(r.Limit-read.n, 0)
	if r.Backward {
		r.To = slices.Clone(read.last)
	} else {
		r.From = append(slices.Clone(read.last), 0)
	}
	return r, true
}

// firstPage is the range that pageOf reads of a range.
func firstPage(r engine.Range) engine.Range {
	if r.Limit == 0 || r.Limit > engine.Page {
		r.Limit = engine.Page
	}
	return r
}

// pageEntries is pageOf that returns the entries.
func pageEntries(v *view, r engine.Range) (entries []engine.Entry, rest engine.Range, more bool) {
	rest, more = pageOf(v, r, func(e engine.Entry) bool {
		entries = append(entries, e)
		return true
	})
	return entries, rest, more
}

// readRecord is the decoder for a table that holds the records itself.
func readRecord[R any](_ *view, e engine.Entry) (record R, err error) {
	return decode[R](e.Key, e.Value)
}

// follow yields the records of a table to which the keys of a range of an index lead. key
// returns that of a record.
func follow[R any](ctx context.Context, s *Store, index engine.Range, t engine.Table, key func([]byte) []byte, read decoder[R]) iter.Seq2[R, error] {
	to := func(e engine.Entry) engine.Key { return engine.Key{Table: t, Key: key(e.Key)} }
	return iterate(ctx, s, index, func(v *view, e engine.Entry) (record R, err error) {
		k := to(e).Key
		value := v.get(t, k)
		if value == nil {
			return record, errNotIndexed
		}
		return read(v, engine.Entry{Key: k, Value: value})
	}, to)
}

// errNotIndexed is the error for a record that only an index has.
var errNotIndexed = fmt.Errorf("%w: the index has a record that is missing", storage.ErrDamaged)

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
	c.load(keys...)
	for _, it := range part {
		n, err := drop(c, it)
		if err != nil && !isMissing(err) {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// fetch returns the record under a key, read in a step of its own, or ErrNotFound.
func fetch[R any](ctx context.Context, s *Store, t engine.Table, key []byte) (record R, err error) {
	err = s.view(ctx, func(v *view) error { return getInto(v, t, key, &record) })
	return record, err
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
