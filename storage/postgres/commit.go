package postgres

import (
	"math"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// unchanged is true if the entries of the parameters 1 to 3 and the ranges of 4 to 9 are as
// they were.
const unchanged = `NOT EXISTS (SELECT FROM unnest($1::smallint[], $2::bytea[], $3::bigint[]) AS q(t, k, r)
	WHERE q.r <> coalesce((SELECT e.r FROM entries e WHERE e.t = q.t AND e.k = q.k), 0))
AND NOT EXISTS (SELECT FROM unnest($4::smallint[], $5::bytea[], $6::smallint[], $7::bytea[], $8::bigint[], $9::bigint[]) AS q(t, k, t2, k2, n, x)
	WHERE (q.n, q.x) <> (SELECT count(*), coalesce(bit_xor(e.r), 0) FROM entries e WHERE (e.t, e.k) >= (q.t, q.k) AND (e.t, e.k) < (q.t2, q.k2)))`

// The statements of the end of a step.
const (
	compareReads = `SELECT ` + unchanged

	takeLocks = `SELECT count(CASE WHEN l.x THEN pg_advisory_xact_lock(l.h) ELSE pg_advisory_xact_lock_shared(l.h) END)
FROM unnest($1::bigint[], $2::bool[]) AS l(h, x)`

	// A statement sees what was committed before it began: so it follows that of the locks.
	applyWrites = `WITH c AS MATERIALIZED (SELECT ` + unchanged + ` AS ok),
d AS (DELETE FROM entries e USING unnest($10::smallint[], $11::bytea[]) AS q(t, k) WHERE e.t = q.t AND e.k = q.k AND (SELECT ok FROM c)),
p AS (INSERT INTO entries SELECT q.t, q.k, q.r, q.v FROM unnest($12::smallint[], $13::bytea[], $14::bigint[], $15::bytea[]) AS q(t, k, r, v)
	WHERE (SELECT ok FROM c) ON CONFLICT (t, k) DO UPDATE SET r = excluded.r, v = excluded.v)
SELECT ok FROM c`
)

// reads returns the parameters of unchanged.
func (x *tx) reads() []any {
	var tables, froms, tos []int16
	var keys, from, to [][]byte
	var revs, counts, sums []int64
	for p, c := range x.cells {
		if c.relied {
			tables, keys, revs = append(tables, p.table), append(keys, []byte(p.key)), append(revs, c.rev)
		}
	}
	for i := range x.spans {
		s := &x.spans[i]
		table, end := s.end()
		froms, from, tos, to = append(froms, s.table), append(from, s.from), append(tos, table), append(to, end)
		counts, sums = append(counts, s.count), append(sums, s.sum)
	}
	return []any{tables, keys, revs, froms, from, tos, to, counts, sums}
}

// changes returns the parameters of applyWrites after those of unchanged.
func (x *tx) changes() []any {
	var gone, stored []place
	var revs []int64
	var values [][]byte
	for p, v := range x.writes {
		if v == nil {
			gone = append(gone, p)
			continue
		}
		stored, revs, values = append(stored, p), append(revs, newRev()), append(values, v)
	}
	goneTables, goneKeys := lists(gone)
	tables, keys := lists(stored)
	return []any{goneTables, goneKeys, tables, keys, revs, values}
}

// newRev returns the revision for a change, above 0, which stands for a missing entry.
func newRev() int64 { return 1 + rand.Int64N(math.MaxInt64) }

// same reads the result of a comparison.
func same(results pgx.BatchResults) error {
	var ok bool
	if err := results.QueryRow().Scan(&ok); err != nil {
		return err
	}
	if !ok {
		return errChanged
	}
	return nil
}

// commit writes the changes of a step, if what it read is still there.
func (x *tx) commit() error {
	var b pgx.Batch
	before := 0 // statements before that which writes
	if x.begun && x.held == nil {
		b.Queue(`ROLLBACK`)
		before++
	}
	missing := x.locks().without(x.held)
	if x.held != nil && len(missing) > 0 && x.at.disturbed <= lockAfter {
		return errChanged // the next run takes them in order with the others
	}
	if len(missing) > 0 {
		numbers, exclusive := missing.lists()
		b.Queue(takeLocks, numbers, exclusive)
		before++
	}
	b.Queue(applyWrites, append(x.reads(), x.changes()...)...)
	if x.held != nil {
		b.Queue(`COMMIT`)
	}
	x.at.sent = true
	results := x.conn.SendBatch(x.ctx, &b)
	for range before {
		if _, err := results.Exec(); err != nil {
			return closeBatch(results, err)
		}
	}
	return closeBatch(results, same(results))
}

// closeBatch ends a batch and returns its first error: a later one, that the connection is
// closed, looks as if nothing was sent.
func closeBatch(results pgx.BatchResults, err error) error {
	if closed := results.Close(); err == nil {
		return closed
	}
	return err
}

// remember keeps what the next run needs if this one was disturbed.
func (a *attempt) remember(x *tx) {
	if a.locks == nil {
		a.locks = make(lockSet)
	}
	a.locks.merge(x.locks())
	a.keys = nil
	for p, c := range x.cells {
		if c.relied {
			a.keys = append(a.keys, p)
		}
	}
}

// lockFirst takes the locks of earlier runs and reads what the last one read.
func (x *tx) lockFirst() error {
	x.begun, x.held = true, x.at.locks
	numbers, exclusive := x.held.lists()
	tables, keys := lists(x.at.keys)
	var b pgx.Batch
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(takeLocks, numbers, exclusive)
	b.Queue(readKeys, tables, keys)
	results := x.conn.SendBatch(x.ctx, &b)
	_, err := results.Exec()
	if err == nil {
		_, err = results.Exec()
	}
	if err == nil {
		var rows pgx.Rows
		if rows, err = results.Query(); err == nil {
			err = x.keepCells(x.at.keys, nil)(rows)
		}
	}
	return closeBatch(results, err)
}

// compare returns errChanged unless everything that was read is still there.
func (x *tx) compare() error {
	var ok bool
	if err := x.conn.QueryRow(x.ctx, compareReads, x.reads()...).Scan(&ok); err != nil {
		return err
	}
	if !ok {
		return errChanged
	}
	return nil
}
