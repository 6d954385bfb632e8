package postgres

import (
	"bytes"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage/engine"
)

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

// Statements of scans. loadRanges reads several ranges; i is the index of the range.
const (
	scanForward  = `SELECT k, r, v FROM entries WHERE (t, k) >= ($1::smallint, $2::bytea) AND (t, k) < ($3::smallint, $4::bytea) ORDER BY t, k LIMIT $5`
	scanBackward = `SELECT k, r, v FROM entries WHERE (t, k) >= ($1::smallint, $2::bytea) AND (t, k) < ($3::smallint, $4::bytea) ORDER BY t DESC, k DESC LIMIT $5`

	loadRanges = `SELECT q.i, s.k, s.r, s.v
FROM unnest($1::smallint[], $2::bytea[], $3::smallint[], $4::bytea[], $5::bigint[], $6::bool[]) WITH ORDINALITY AS q(t, k, t2, k2, n, b, i)
CROSS JOIN LATERAL (
	(SELECT k, r, v FROM entries e WHERE NOT q.b AND (e.t, e.k) >= (q.t, q.k) AND (e.t, e.k) < (q.t2, q.k2) ORDER BY e.t, e.k LIMIT q.n)
	UNION ALL
	(SELECT k, r, v FROM entries e WHERE q.b AND (e.t, e.k) >= (q.t, q.k) AND (e.t, e.k) < (q.t2, q.k2) ORDER BY e.t DESC, e.k DESC LIMIT q.n)) s`
)

// A scanner reads the stored entries of a range, page by page.
type scanner struct {
	x     *tx
	r     engine.Range
	all   span // without entries
	got   span // that was read so far
	rest  span
	page  []row
	asked bool // not all that was read was loaded
	done  bool // no page follows
}

func (x *tx) newScanner(r engine.Range) (*scanner, error) {
	t, err := x.table(r.Table)
	all := span{table: t, from: append([]byte{}, r.From...), to: bytes.Clone(r.To)}
	return &scanner{x: x, r: r, all: all, got: all, rest: all}, err
}

// isEmpty reports whether the range has no keys.
func (s *scanner) isEmpty() bool { return s.r.To != nil && bytes.Compare(s.r.From, s.r.To) >= 0 }

// limit returns how many entries the next page has at most.
func (s *scanner) limit() int {
	if s.r.Limit > 0 {
		return min(engine.Page, s.r.Limit)
	}
	return engine.Page
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
	s.asked = true
	sql := scanForward
	if s.r.Backward {
		sql = scanBackward
	}
	after, to := s.rest.end()
	var page []row
	err := s.x.ask(nil, question{func(rows pgx.Rows) error {
		var e row
		_, err := pgx.ForEachRow(rows, []any{&e.key, &e.rev, &e.value}, func() error {
			page = append(page, e)
			e = row{}
			return nil
		})
		return err
	}, sql, []any{s.rest.table, s.rest.from, after, to, s.limit()}})
	s.turn(page)
	return err
}

// turn takes the next page.
func (s *scanner) turn(page []row) {
	s.page, s.done = page, len(page) < s.limit()
	for i := range page {
		s.got.count++
		s.got.sum ^= page[i].rev
	}
	if n := len(page); n > 0 {
		if last := page[n-1].key; s.r.Backward {
			s.rest.to, s.got.from = last, last
		} else {
			s.rest.from = append(slices.Clone(last), 0)
			s.got.to = s.rest.from
		}
	}
}

// LoadRanges implements [engine.Reader]. The step relies on the first pages.
func (x *tx) LoadRanges(ranges ...engine.Range) error {
	var all []*scanner
	var tables, tos []int16
	var keys, ends [][]byte
	var limits []int64
	var backward []bool
	for _, r := range ranges {
		s, err := x.newScanner(r)
		if err != nil {
			return err
		}
		if s.isEmpty() || x.wasLoaded(&r) != nil {
			continue
		}
		to, end := s.rest.end()
		all, tables, keys, tos, ends = append(all, s), append(tables, s.rest.table), append(keys, s.rest.from), append(tos, to), append(ends, end)
		limits, backward = append(limits, int64(s.limit())), append(backward, r.Backward)
	}
	if len(all) == 0 {
		return x.err
	}
	pages := make([][]row, len(all))
	err := x.ask(nil, question{func(rows pgx.Rows) error {
		var i int64
		var e row
		_, err := pgx.ForEachRow(rows, []any{&i, &e.key, &e.rev, &e.value}, func() error {
			pages[i-1] = append(pages[i-1], e)
			e = row{}
			return nil
		})
		return err
	}, loadRanges, []any{tables, keys, tos, ends, limits, backward}})
	for i, s := range all {
		slices.SortFunc(pages[i], func(a, b row) int { return order(a.key, b.key, s.r.Backward) })
		s.load(pages[i])
	}
	return err
}

// load keeps the first page for a scan.
func (s *scanner) load(page []row) {
	s.turn(page)
	if s.done {
		s.got.from, s.got.to = s.all.from, s.all.to
	}
	if !s.r.Loose {
		seen := s.all
		for i := range page {
			s.x.use(&page[i], &s.r, &seen)
		}
		s.x.spans = append(s.x.spans, s.got)
	}
	s.x.loaded = append(s.x.loaded, s)
}

// wasLoaded returns a copy of the scanner of a range that was loaded, nil if it was not.
func (x *tx) wasLoaded(r *engine.Range) *scanner {
	for _, s := range x.loaded {
		if s.r.Table == r.Table && s.r.Backward == r.Backward && s.r.Limit == r.Limit && s.r.Loose == r.Loose &&
			bytes.Equal(s.r.From, r.From) && bytes.Equal(s.r.To, r.To) && (s.r.To == nil) == (r.To == nil) {
			again := *s
			return &again
		}
	}
	return nil
}

// Scan implements [engine.Reader].
func (x *tx) Scan(r engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		stored, err := x.wasLoaded(&r), x.err
		if stored == nil {
			stored, err = x.newScanner(r)
		}
		if err == nil && stored.isEmpty() {
			return
		}
		seen := stored.all
		if err == nil {
			err = x.scan(stored, &seen, yield)
		}
		if err != nil {
			yield(engine.Entry{}, err)
			return
		}
		if !r.Loose && stored.asked {
			x.spans = append(x.spans, seen)
		}
	}
}

// scan yields the entries of a range with the step's changes in it. It reduces seen to
// what was used of it.
func (x *tx) scan(stored *scanner, seen *span, yield func(engine.Entry, error) bool) error {
	r := &stored.r
	own := x.own(seen.table, r)
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
