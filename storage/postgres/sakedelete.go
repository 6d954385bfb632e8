package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// DeleteSakeRecord is described in [storage.Sake].
func (s *Store) DeleteSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID) error {
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		t, _, _, err := ownSake(ctx, c, table, id, owner, `FOR NO KEY UPDATE`)
		if err != nil {
			return err
		}
		_, err = dropSakeRecords(ctx, c, `table_no = $1 AND id = $2`, t.number, int64(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("delete SAKE record %d: %w", id, err)
	}
	return nil
}

// sakeOwned is the key of a row of sake_owned.
type sakeOwned struct{ owner, table int64 }

// sakeLess are sums of records that were deleted.
type sakeLess struct {
	owned          map[sakeOwned]storage.SakeCount
	tables, owners map[int64]storage.SakeCount
	all            storage.SakeCount
}

func addCount[K comparable](to map[K]storage.SakeCount, key K, bytes int64) {
	n := to[key]
	to[key] = storage.SakeCount{Records: n.Records + 1, Bytes: n.Bytes + bytes}
}

// countsOf returns the keys of sums in their order, and their numbers.
func countsOf(sums map[int64]storage.SakeCount) (keys, records, bytes []int64) {
	keys = slices.Sorted(maps.Keys(sums))
	for _, k := range keys {
		records, bytes = append(records, int64(sums[k].Records)), append(bytes, sums[k].Bytes)
	}
	return keys, records, bytes
}

// dropSakeRecords removes records, which are locked, and returns how many there were.
// Their ratings are removed by SweepSake: there may be many, and no later record has
// that id.
func dropSakeRecords(ctx context.Context, q querier, which string, args ...any) (int, error) {
	rows, err := q.Query(ctx, `DELETE FROM sake_records WHERE `+which+` RETURNING table_no, owner, length(fields)`, args...)
	if err != nil {
		return 0, err
	}
	less := sakeLess{make(map[sakeOwned]storage.SakeCount), make(map[int64]storage.SakeCount), make(map[int64]storage.SakeCount), storage.SakeCount{}}
	var table, owner, size int64
	_, err = pgx.ForEachRow(rows, []any{&table, &owner, &size}, func() error {
		size += sakeHead
		addCount(less.owned, sakeOwned{owner, table}, size)
		addCount(less.tables, table, size)
		addCount(less.owners, owner, size)
		less.all.Records++
		less.all.Bytes += size
		return nil
	})
	if err != nil || less.all.Records == 0 {
		return 0, err
	}
	return less.all.Records, less.write(ctx, q)
}

// write takes the sums out of the counts.
func (l *sakeLess) write(ctx context.Context, q querier) error {
	tables, records, bytes := countsOf(l.tables)
	var b pgx.Batch
	b.Queue(`SELECT FROM sake_tables WHERE number = ANY($1) ORDER BY number FOR NO KEY UPDATE`, tables)
	b.Queue(`UPDATE sake_tables AS t SET records = t.records - x.records, bytes = t.bytes - x.bytes
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (number, records, bytes) WHERE t.number = x.number`, tables, records, bytes)
	owners, ownerRecords, ownerBytes := countsOf(l.owners)
	b.Queue(`SELECT FROM sake_owners WHERE owner = ANY($1) ORDER BY owner FOR NO KEY UPDATE`, owners)
	b.Queue(`UPDATE sake_owners AS o SET records = o.records - x.records, bytes = o.bytes - x.bytes
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (owner, records, bytes) WHERE o.owner = x.owner`, owners, ownerRecords, ownerBytes)
	l.queueOwned(&b)
	b.Queue(`SELECT FROM sake_games WHERE game IN (SELECT game FROM sake_tables WHERE number = ANY($1)) ORDER BY game FOR NO KEY UPDATE`, tables)
	b.Queue(`UPDATE sake_games AS g SET records = g.records - x.records FROM (
			SELECT t.game, sum(x.records)::bigint AS records
			FROM unnest($1::bigint[], $2::bigint[]) AS x (number, records) JOIN sake_tables AS t USING (number) GROUP BY t.game) AS x
		WHERE g.game = x.game`, tables, records)
	b.Queue(`UPDATE sake_totals SET records = records - $1, bytes = bytes - $2`, l.all.Records, l.all.Bytes)
	return q.SendBatch(ctx, &b).Close()
}

// queueOwned takes the sums out of the counts of owners in tables. The rows of the owners
// are locked.
func (l *sakeLess) queueOwned(b *pgx.Batch) {
	keys := slices.SortedFunc(maps.Keys(l.owned), func(a, b sakeOwned) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.table, b.table))
	})
	var owners, tables, records, bytes []int64
	for _, k := range keys {
		n := l.owned[k]
		owners, tables = append(owners, k.owner), append(tables, k.table)
		records, bytes = append(records, int64(n.Records)), append(bytes, n.Bytes)
	}
	b.Queue(`UPDATE sake_owned AS o SET records = o.records - x.records, bytes = o.bytes - x.bytes
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS x (owner, table_no, records, bytes)
		WHERE o.owner = x.owner AND o.table_no = x.table_no`, owners, tables, records, bytes)
	b.Queue(`DELETE FROM sake_owned AS o USING unnest($1::bigint[], $2::bigint[]) AS x (owner, table_no)
		WHERE o.owner = x.owner AND o.table_no = x.table_no AND o.records = 0`, owners, tables)
}

// dropSake removes all records of a profile.
func dropSake(ctx context.Context, q querier, owner storage.ProfileID) error {
	if _, err := q.Exec(ctx, `SELECT FROM sake_records WHERE owner = $1 ORDER BY table_no, id FOR UPDATE`, int64(owner)); err != nil {
		return err
	}
	if _, err := dropSakeRecords(ctx, q, `owner = $1`, int64(owner)); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `DELETE FROM sake_owners WHERE owner = $1`, int64(owner))
	return err
}

// DeleteSakeTable is described in [storage.Sake].
func (s *Store) DeleteSakeTable(ctx context.Context, table storage.SakeTableID) (removed int, err error) {
	for done := false; !done; {
		n := 0
		err := s.write(ctx, func(ctx context.Context, c *change) (err error) {
			n, done, err = dropSakeTable(ctx, c, table)
			return err
		})
		if err != nil {
			return removed, fmt.Errorf("delete SAKE table: %w", err)
		}
		ctx = storage.WithoutAudit(ctx) // one entry is enough
		removed += n
	}
	return removed, nil
}

// dropSakeTable removes records of a table, and the table if that were all, and returns
// how many there were.
func dropSakeTable(ctx context.Context, q querier, id storage.SakeTableID) (n int, done bool, err error) {
	var b pgx.Batch
	var t sakeTable
	var ids []int64
	b.Queue(`SELECT id FROM sake_records WHERE table_no = (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2)
		ORDER BY id LIMIT $3 FOR UPDATE`, lookup(id.Game), lookup(storage.Fold(id.Name)), dropStep).Query(func(rows pgx.Rows) (err error) {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	queueSakeTable(&b, id, `FOR NO KEY UPDATE`, &t) // none is added from now on
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return 0, false, err
	}
	if !t.live {
		return 0, false, storage.ErrNoTable
	}
	if n, err = dropSakeRecords(ctx, q, `table_no = $1 AND id = ANY($2)`, t.number, ids); err != nil {
		return 0, false, err
	}
	tag, err := q.Exec(ctx, `UPDATE sake_tables SET live = false, columns = '[]' WHERE number = $1
		AND NOT EXISTS (SELECT FROM sake_records WHERE table_no = $1)`, t.number)
	if err != nil || tag.RowsAffected() == 0 {
		return n, false, err
	}
	_, err = q.Exec(ctx, `UPDATE sake_games SET tables = tables - 1 WHERE game = $1`, t.Game)
	return n, true, err
}

// sakeSweepPage is the number of ratings that SweepSake looks at in one step.
const sakeSweepPage = 10_000

// sakeRating is the key of a rating.
type sakeRating struct{ table, id, rater int64 }

// orphans are the ratings whose record or author is gone, of a page.
type orphans struct {
	tables, ids, raters []int64
	last                *sakeRating // of the page; nil: it is empty
}

// SweepSake is described in [storage.Sake].
func (s *Store) SweepSake(ctx context.Context) (total int, err error) {
	for last := (sakeRating{}); ; {
		var gone orphans
		err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
			gone, err = orphanRatings(ctx, q, last)
			return err
		})
		if err != nil || gone.last == nil {
			return total, err
		}
		last = *gone.last
		if len(gone.ids) == 0 {
			continue
		}
		n := 0
		err = s.write(ctx, func(ctx context.Context, c *change) (err error) {
			n, err = dropRatings(ctx, c, &gone)
			c.idle = n == 0
			return err
		})
		if err != nil {
			return total, fmt.Errorf("sweep SAKE ratings: %w", err)
		}
		total += n
	}
}

// gone says that the record or the author of the rating a is gone.
const goneRating = `(NOT EXISTS (SELECT FROM sake_records AS r WHERE r.table_no = a.table_no AND r.id = a.id)
	OR NOT EXISTS (SELECT FROM profiles AS p WHERE p.id = a.rater))`

// orphanRatings reads the page of ratings behind the last one.
func orphanRatings(ctx context.Context, q querier, last sakeRating) (gone orphans, err error) {
	rows, err := q.Query(ctx, `SELECT table_no, id, rater, `+goneRating+` FROM (
			SELECT * FROM sake_ratings WHERE (table_no, id, rater) > ($1, $2, $3) ORDER BY table_no, id, rater LIMIT $4) AS a
		ORDER BY table_no, id, rater`, last.table, last.id, last.rater, sakeSweepPage)
	if err != nil {
		return gone, err
	}
	var key sakeRating
	var orphan bool
	_, err = pgx.ForEachRow(rows, []any{&key.table, &key.id, &key.rater, &orphan}, func() error {
		at := key
		gone.last = &at
		if orphan {
			gone.tables, gone.ids, gone.raters = append(gone.tables, key.table), append(gone.ids, key.id), append(gone.raters, key.rater)
		}
		return nil
	})
	return gone, err
}

// dropRatings removes ratings, from the averages of their records too, and returns how
// many it removed. The times of the records stay.
func dropRatings(ctx context.Context, q querier, gone *orphans) (n int, err error) {
	var b pgx.Batch
	b.Queue(`SELECT FROM sake_records AS r JOIN (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) AS x (table_no, id)) AS x
		USING (table_no, id) ORDER BY r.table_no, r.id FOR NO KEY UPDATE OF r`, gone.tables, gone.ids)
	b.Queue(`WITH gone AS (
			DELETE FROM sake_ratings AS a USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x (table_no, id, rater)
			WHERE a.table_no = x.table_no AND a.id = x.id AND a.rater = x.rater AND `+goneRating+`
			RETURNING a.table_no, a.id, a.rating),
		less AS (SELECT table_no, id, count(*) AS n, sum(rating) AS sum FROM gone GROUP BY table_no, id),
		done AS (UPDATE sake_records AS r SET ratings = greatest(r.ratings - less.n, 0), rating_sum = greatest(r.rating_sum - less.sum, 0)
			FROM less WHERE r.table_no = less.table_no AND r.id = less.id)
		SELECT count(*) FROM gone`, gone.tables, gone.ids, gone.raters).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	return n, q.SendBatch(ctx, &b).Close()
}
