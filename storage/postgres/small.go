package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// putSmall stores records of a table of 015_small.sql, all or none. queue queues their
// upserts, each of which returns whether it inserted a row: xmax = 0. The error is
// ErrFull if there would be more than limit rows.
func (s *Store) putSmall(ctx context.Context, table string, limit int, queue func(b *pgx.Batch, inserted func(pgx.Rows) error)) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		made, before := 0, 0
		inserted := func(rows pgx.Rows) error {
			var is bool
			_, err := pgx.ForEachRow(rows, []any{&is}, func() error {
				if is {
					made++
				}
				return nil
			})
			return err
		}
		var b pgx.Batch
		b.Queue(`SELECT rows FROM table_sizes WHERE name = $1 FOR NO KEY UPDATE`, table).QueryRow(func(row pgx.Row) error { return row.Scan(&before) })
		queue(&b, inserted)
		if err := c.SendBatch(ctx, &b).Close(); err != nil || made == 0 {
			return err
		}
		if before+made > limit {
			return fmt.Errorf("%w: there are %d already", storage.ErrFull, before)
		}
		_, err := c.Exec(ctx, `UPDATE table_sizes SET rows = rows + $2 WHERE name = $1`, table, made)
		return err
	})
}

// removeSmall removes rows of a table of 015_small.sql. The error is ErrNotFound if there
// are none.
func (s *Store) removeSmall(ctx context.Context, table, which string, args ...any) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		n, err := dropSmall(ctx, c, table, which, args...)
		if err == nil && n == 0 {
			err = storage.ErrNotFound
		}
		return err
	})
}

// dropSmall removes rows of a table of 015_small.sql and returns how many there were.
func dropSmall(ctx context.Context, q querier, table, which string, args ...any) (n int64, err error) {
	var b pgx.Batch
	b.Queue(`SELECT FROM table_sizes WHERE name = $1 FOR NO KEY UPDATE`, table)
	b.Queue(`WITH gone AS (DELETE FROM `+table+` WHERE `+which+` RETURNING 1),
		less AS (UPDATE table_sizes SET rows = rows - (SELECT count(*) FROM gone) WHERE name = '`+table+`' AND EXISTS (SELECT FROM gone))
		SELECT count(*) FROM gone`, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	return n, q.SendBatch(ctx, &b).Close()
}
