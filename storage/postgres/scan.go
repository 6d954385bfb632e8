package postgres

import (
	"bytes"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage/engine"
)

// pageRows is the most entries that a scan reads in one round trip.
const pageRows = 1000

// A span is a range that a step relies on.
type span struct {
	table    int16
	from, to []byte // to is nil: to the end of the table
	count    int64  // entries
	sum      int64  // of their revisions, by XOR
}

func (s *span) contains(p place) bool {
	return p.table == s.table && p.key >= string(s.from) && (s.to == nil || p.key < string(s.to))
}

// end returns the first table and key above a span.
func (s *span) end() (int16, []byte) {
	if s.to == nil {
		return s.table + 1, []byte{}
	}
	return s.table, s.to
}

// A row is an entry with its revision.
type row struct {
	key, value []byte
	rev        int64
}

// Statements of scans.
const (
	scanForward  = `SELECT k, r, v FROM entries WHERE (t, k) >= ($1::smallint, $2::bytea) AND (t, k) < ($3::smallint, $4::bytea) ORDER BY t, k LIMIT $5`
	scanBackward = `SELECT k, r, v FROM entries WHERE (t, k) >= ($1::smallint, $2::bytea) AND (t, k) < ($3::smallint, $4::bytea) ORDER BY t DESC, k DESC LIMIT $5`
)

// A scanner reads the stored entries of a range, page by page.
type scanner struct {
	x    *tx
	got  span // that was read so far
	rest span
	r    *engine.Range
	page []row
	done bool // no page follows
}

// peek returns the next entry, nil at the end.
func (s *scanner) peek() (*row, error) {
	if len(s.page) == 0 && !s.done {
		if err := s.read(); err != nil {
			return nil, err
		}
	}
	if len(s.page) == 0 {
		return nil, nil
	}
	return &s.page[0], nil
}

// read reads the next page. If the first one was read without a transaction, it is compared
// like what the step read before: all pages are of one moment.
func (s *scanner) read() error {
	if !s.x.begun && !s.r.Loose && s.got.count > 0 {
		before := s.x.spans
		s.x.spans = append(slices.Clip(before), s.got)
		defer func() { s.x.spans = before }()
	}
	limit, sql := pageRows, scanForward
	if s.r.Limit > 0 {
		limit = min(limit, s.r.Limit)
	}
	if s.r.Backward {
		sql = scanBackward
	}
	after, to := s.rest.end()
	err := s.x.query(func(rows pgx.Rows) error {
		var e row
		_, err := pgx.ForEachRow(rows, []any{&e.key, &e.rev, &e.value}, func() error {
			s.page = append(s.page, e)
			s.got.count++
			s.got.sum ^= e.rev
			e = row{}
			return nil
		})
		return err
	}, sql, s.rest.table, s.rest.from, after, to, limit)
	if n := len(s.page); err == nil && n > 0 {
		if last := s.page[n-1].key; s.r.Backward {
			s.rest.to, s.got.from = last, last
		} else {
			s.rest.from = append(slices.Clone(last), 0)
			s.got.to = s.rest.from
		}
	}
	s.done = len(s.page) < limit
	return err
}

// Scan implements [engine.Reader].
func (x *tx) Scan(r engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		t, err := x.table(r.Table)
		if err != nil {
			yield(engine.Entry{}, err)
			return
		}
		if r.To != nil && bytes.Compare(r.From, r.To) >= 0 {
			return
		}
		seen := span{table: t, from: append([]byte{}, r.From...), to: bytes.Clone(r.To)}
		if err := x.scan(&r, &seen, yield); err != nil {
			yield(engine.Entry{}, err)
			return
		}
		if !r.Loose {
			x.spans = append(x.spans, seen)
		}
	}
}

// scan yields the entries of a range with the step's changes in it. It reduces seen to
// what was used of it.
func (x *tx) scan(r *engine.Range, seen *span, yield func(engine.Entry, error) bool) error {
	stored, own := scanner{x: x, got: *seen, rest: *seen, r: r}, x.own(seen.table, r)
	for n := 0; ; {
		e, err := stored.peek()
		if err != nil {
			return err
		}
		var next engine.Entry
		switch {
		case e == nil && len(own) == 0:
			return nil
		case e == nil || len(own) > 0 && order(own[0].Key, e.key, r.Backward) <= 0:
			next, own = own[0], own[1:]
			if e != nil && bytes.Equal(next.Key, e.key) {
				x.use(e, r, seen)
				stored.page = stored.page[1:]
			}
		default:
			next = engine.Entry{Key: e.key, Value: e.value}
			x.use(e, r, seen)
			stored.page = stored.page[1:]
		}
		if next.Value == nil {
			continue // deleted
		}
		n++
		if !yield(next, nil) || n == r.Limit {
			seen.endAt(next.Key, r.Backward)
			return nil
		}
	}
}

// use adds an entry to what a step relies on.
func (x *tx) use(e *row, r *engine.Range, seen *span) {
	seen.count++
	seen.sum ^= e.rev
	if !r.Loose {
		if p := (place{seen.table, string(e.key)}); !x.cells[p].relied {
			x.cells[p] = cell{rev: e.rev, value: e.value}
		}
	}
}

// endAt reduces a span to the part of a scan that ended with a key.
func (s *span) endAt(key []byte, backward bool) {
	if backward {
		s.from = bytes.Clone(key)
	} else {
		s.to = append(bytes.Clone(key), 0)
	}
}
