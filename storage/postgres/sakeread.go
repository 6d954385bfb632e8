package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/respawnd/respawnd/storage"
)

// sakeRowColumns are the columns of a row of sake_records.
const sakeRowColumns = `r.id, r.owner, r.ratings, r.rating_sum, r.created, r.changed, r.fields`

// sakeColumns receive the columns sakeRowColumns, and one more: a search of many rows
// makes nothing for each of them.
type sakeColumns struct {
	id, owner, ratings, sum, created, changed int64
	fields                                    pgtype.DriverBytes
	to                                        []any
}

// newSakeColumns returns columns that also receive more.
func newSakeColumns(more ...any) *sakeColumns {
	c := new(sakeColumns)
	c.to = append([]any{&c.id, &c.owner, &c.ratings, &c.sum, &c.created, &c.changed, &c.fields}, more...)
	return c
}

// scan reads a row and returns the length of its fields. Unless they are copied, the row
// is valid until the next one is read.
func (c *sakeColumns) scan(row pgx.Row, r *storage.SakeRow, copied bool) (int, error) {
	if err := row.Scan(c.to...); err != nil {
		return 0, err
	}
	r.ID, r.Owner, r.Ratings, r.RatingSum = uint32(c.id), storage.ProfileID(c.owner), int(c.ratings), c.sum
	r.Created, r.Changed, r.MyRating = c.created, c.changed, -1
	fields := []byte(c.fields)
	if copied {
		fields = slices.Clone(fields)
	}
	r.OpenFields(fields)
	return len(fields), nil
}

// GetSakeTable is described in [storage.Sake].
func (s *Store) GetSakeTable(ctx context.Context, table storage.SakeTableID) (storage.SakeTable, error) {
	var t sakeTable
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		t = sakeTable{}
		return scanSakeTable(q.QueryRow(ctx, `SELECT `+sakeTableColumns+` FROM sake_tables
			WHERE game = $1 AND folded = $2 AND live`, lookup(table.Game), lookup(storage.Fold(table.Name))), &t)
	})
	if isMissing(err) {
		err = storage.ErrNoTable
	}
	if err != nil {
		return storage.SakeTable{}, err
	}
	return t.SakeTable, nil
}

// sakeTablePage is how many tables are read at once: each may have many columns.
const sakeTablePage = 32

// SakeTables is described in [storage.Sake].
func (s *Store) SakeTables(ctx context.Context, game string) iter.Seq2[storage.SakeTable, error] {
	return iterateSized(ctx, s, func(ctx context.Context, q querier, last *storage.SakeTable) ([]item[storage.SakeTable], error) {
		if last == nil {
			last = &storage.SakeTable{}
		}
		rows, err := q.Query(ctx, `SELECT `+sakeTableColumns+` FROM sake_tables
			WHERE live AND ($1 = '' OR game = $1) AND (game, folded) > ($2, $3) ORDER BY game, folded LIMIT $4`,
			lookup(game), last.Game, storage.Fold(last.Name), sakeTablePage)
		return collect(rows, err, func(row pgx.Row, out *storage.SakeTable) error {
			var t sakeTable
			err := scanSakeTable(row, &t)
			*out = t.SakeTable
			return err
		})
	})
}

// SakeRecords is described in [storage.Sake].
func (s *Store) SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) (all []storage.SakeRecord, err error) {
	var t sakeTable
	var rows []storage.SakeRow
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows = nil
		var b pgx.Batch
		b.Queue(`SELECT `+sakeRowColumns+` FROM unnest($3::bigint[]) WITH ORDINALITY AS x (id, i) JOIN sake_records AS r USING (id)
			WHERE r.table_no = (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2) ORDER BY x.i`,
			lookup(table.Game), lookup(storage.Fold(table.Name)), bigints(ids)).Query(func(found pgx.Rows) error {
			columns := newSakeColumns()
			for found.Next() {
				var row storage.SakeRow
				if _, err := columns.scan(found, &row, true); err != nil {
					return err
				}
				rows = append(rows, row)
			}
			return found.Err()
		})
		queueSakeTable(&b, table, "", &t) // after the records: it has all of their columns
		return q.SendBatch(ctx, &b).Close()
	})
	if err == nil && !t.live {
		err = storage.ErrNoTable
	}
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		rec, err := row.Record(t.Columns)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

// The numbers of rows that a scan reads at once. The first page is short, because most
// searches look at few rows.
const (
	firstSakePage = 64
	maxSakePage   = 4096
)

// sakeScan is a scan under way.
type sakeScan struct {
	table   storage.SakeTableID
	scan    storage.SakeScan
	visit   func(*storage.SakeRow) bool
	visited bool // visit was called

	limit  int64 // rows of a page
	rows   int64 // of the page that was read last
	owner  int64 // index of the owner of the last row
	after  int64 // id of the last row
	ended  bool  // by visit
	table2 sakeTable
}

// ScanSake is described in [storage.Sake].
func (s *Store) ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error {
	c := sakeScan{table: table, scan: scan, visit: visit}
	var failed error
	return s.snapshot(ctx, func(ctx context.Context, q querier) error {
		if c.visited { // rows must not be visited twice
			// Not wrapped: the search must not run again.
			return fmt.Errorf("%w: the search was interrupted: %s", storage.ErrUnavailable, failed.Error())
		}
		c.limit, c.owner, c.after, c.ended = firstSakePage, 0, int64(scan.First)-1, false
		if len(scan.Owners) > 0 {
			c.after = 0
		}
		for first := true; ; first = false {
			if failed = c.page(ctx, q, first); failed != nil {
				return failed
			}
			if !c.table2.live {
				return storage.ErrNoTable
			}
			if c.ended || c.rows < c.limit {
				return nil
			}
			c.limit = min(4*c.limit, maxSakePage)
		}
	})
}

// page visits the rows of the next page. The first one reads the table too.
func (c *sakeScan) page(ctx context.Context, q querier, first bool) error {
	var b pgx.Batch
	if first {
		queueSakeTable(&b, c.table, "", &c.table2)
	}
	args := []any{lookup(c.table.Game), lookup(storage.Fold(c.table.Name)), c.after, c.limit, int64(c.scan.Rater)}
	const number = `(SELECT number FROM sake_tables WHERE game = $1 AND folded = $2 AND live)`
	mine, join := `-1`, ``
	if c.scan.Rater != 0 {
		mine = `coalesce(a.rating, -1)`
		join = ` LEFT JOIN sake_ratings AS a ON a.table_no = r.table_no AND a.id = r.id AND a.rater = $5`
	}
	sql := `SELECT ` + sakeRowColumns + `, 0::bigint, ` + mine + ` FROM sake_records AS r` + join + `
		WHERE r.table_no = ` + number + ` AND r.id > $3 AND $5 >= 0 ORDER BY r.id LIMIT $4`
	if len(c.scan.Owners) > 0 {
		sql = `SELECT ` + sakeRowColumns + `, o.i, ` + mine + ` FROM unnest($6::bigint[]) WITH ORDINALITY AS o (owner, i)
			CROSS JOIN LATERAL (SELECT * FROM sake_records AS r WHERE r.owner = o.owner AND r.table_no = ` + number + `
				AND (o.i > $7 OR r.id > $3) ORDER BY r.id LIMIT $4) AS r` + join + `
			WHERE o.i >= $7 AND $5 >= 0 ORDER BY o.i, r.id LIMIT $4`
		args = append(args, bigints(c.scan.Owners), c.owner)
	}
	b.Queue(sql, args...).Query(c.visitAll)
	return q.SendBatch(ctx, &b).Close()
}

// visitAll visits the rows of a page.
func (c *sakeScan) visitAll(rows pgx.Rows) error {
	c.rows = 0
	var row storage.SakeRow
	var mine int64
	columns := newSakeColumns(&c.owner, &mine)
	for rows.Next() {
		if c.rows++; c.ended {
			continue
		}
		if _, err := columns.scan(rows, &row, false); err != nil {
			return err
		}
		c.after, row.MyRating, c.visited = int64(row.ID), int(mine), true
		c.ended = !c.visit(&row)
	}
	return rows.Err()
}

// SakeRatings is described in [storage.Sake].
func (s *Store) SakeRatings(ctx context.Context, table storage.SakeTableID, rater storage.ProfileID, ids []uint32) (ratings []int, err error) {
	var live bool
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `WITH t AS (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2 AND live)
			SELECT EXISTS (SELECT FROM t), ARRAY(SELECT coalesce(a.rating, -1)
				FROM unnest($4::bigint[]) WITH ORDINALITY AS x (id, i)
				LEFT JOIN sake_ratings AS a ON a.table_no = (SELECT number FROM t) AND a.id = x.id AND a.rater = $3 ORDER BY x.i)::bigint[]`,
			lookup(table.Game), lookup(storage.Fold(table.Name)), int64(rater), bigints(ids)).Scan(&live, &ratings)
	})
	if err == nil && !live {
		err = storage.ErrNoTable
	}
	if err != nil || len(ratings) == 0 {
		return nil, err
	}
	return ratings, nil
}

// SakeOwned is described in [storage.Sake].
func (s *Store) SakeOwned(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID) (n storage.SakeCount, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT coalesce(o.records, 0), coalesce(o.bytes, 0) FROM sake_tables AS t
			LEFT JOIN sake_owned AS o ON o.table_no = t.number AND o.owner = $3 WHERE t.game = $1 AND t.folded = $2 AND t.live`,
			lookup(table.Game), lookup(storage.Fold(table.Name)), int64(owner)).Scan(&n.Records, &n.Bytes)
	})
	if isMissing(err) {
		err = storage.ErrNoTable
	}
	return n, err
}

// numberedSake is a record with the number of its table.
type numberedSake struct {
	storage.OwnedSakeRecord

	number int64
	row    storage.SakeRow
}

// SakeOf is described in [storage.Sake].
func (s *Store) SakeOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.OwnedSakeRecord, error] {
	all := iterateSized(ctx, s, func(ctx context.Context, q querier, last *numberedSake) ([]item[numberedSake], error) {
		if last == nil {
			last = &numberedSake{}
		}
		return sakePage(ctx, q, owner, last)
	})
	return func(yield func(storage.OwnedSakeRecord, error) bool) {
		for r, err := range all {
			if !yield(r.OwnedSakeRecord, err) {
				return
			}
		}
	}
}

// sakePage reads the records of a profile behind the last one.
func sakePage(ctx context.Context, q querier, owner storage.ProfileID, last *numberedSake) ([]item[numberedSake], error) {
	tables := make(map[int64]*sakeTable)
	var items []item[numberedSake]
	var b pgx.Batch
	b.Queue(`SELECT `+sakeRowColumns+`, r.table_no FROM (
			SELECT *, sum(length(fields)) OVER (ORDER BY table_no, id) - length(fields) AS ahead FROM (
				SELECT * FROM sake_records WHERE owner = $1 AND (table_no, id) > ($2, $3) ORDER BY table_no, id LIMIT $4) AS r) AS r
		WHERE ahead < $5 ORDER BY r.table_no, r.id`,
		int64(owner), last.number, int64(last.row.ID), pageRecords, pageBytes).Query(func(rows pgx.Rows) (err error) {
		var number int64
		columns := newSakeColumns(&number)
		items, err = collect(rows, nil, func(row pgx.Row, r *numberedSake) error {
			_, err := columns.scan(row, &r.row, true)
			r.number = number
			return err
		})
		return err
	})
	// After the records: the tables have all of their columns.
	b.Queue(`SELECT `+sakeTableColumns+` FROM sake_tables WHERE number IN (SELECT table_no FROM sake_owned WHERE owner = $1 AND table_no >= $2)`,
		int64(owner), last.number).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			t := new(sakeTable)
			if err := scanSakeTable(rows, t); err != nil && !isDamage(err) {
				return err
			}
			tables[t.number] = t
		}
		return rows.Err()
	})
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	for i := range items {
		r := &items[i].record
		t := tables[r.number]
		if t == nil { // deleted in between
			t = new(sakeTable)
		}
		r.SakeTableID = t.SakeTableID
		r.SakeRecord, items[i].err = r.row.Record(t.Columns)
	}
	return items, nil
}

// CountSake is described in [storage.Sake].
func (s *Store) CountSake(ctx context.Context) (n storage.SakeCount, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT records, bytes FROM sake_totals`).Scan(&n.Records, &n.Bytes)
	})
	return n, err
}
