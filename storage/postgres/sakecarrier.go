package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// SakeSeries is described in [storage.Carrier].
func (s *Store) SakeSeries(ctx context.Context) iter.Seq2[storage.SakeSeries, error] {
	type series struct {
		storage.SakeSeries

		number int64
	}
	return func(yield func(storage.SakeSeries, error) bool) {
		iteratePages(ctx, s, sakeTablePage, func(ctx context.Context, q querier, last *series) ([]item[series], error) {
			after := int64(0)
			if last != nil {
				after = last.number
			}
			rows, err := q.Query(ctx, `SELECT `+sakeTableColumns+` FROM sake_tables WHERE number > $1 AND (live OR last_id > 0)
				ORDER BY number LIMIT $2`, after, sakeTablePage)
			return collect(rows, err, func(row pgx.Row, out *series) error {
				var t sakeTable
				err := scanSakeTable(row, &t)
				out.number, out.SakeTableID, out.Live, out.LastID = t.number, t.SakeTableID, t.live, uint32(t.lastID)
				if t.live {
					out.Columns = t.Columns
				}
				return err
			})
		})(func(r series, err error) bool { return yield(r.SakeSeries, err) })
	}
}

// ImportSakeSeries is described in [storage.Carrier].
func (s *Store) ImportSakeSeries(ctx context.Context, series storage.SakeSeries) error {
	if err := series.Check(); err != nil {
		return err
	}
	err := s.write(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		var b pgx.Batch
		var t sakeTable
		b.Queue(`INSERT INTO sake_tables (game, folded, name, live, columns, last_id) VALUES ($1, $2, $3, false, '[]', 0)
			ON CONFLICT (game, folded) DO NOTHING`, series.Game, storage.Fold(series.Name), series.Name)
		queueSakeTable(&b, series.SakeTableID, `FOR NO KEY UPDATE`, &t)
		if err := c.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		b = pgx.Batch{}
		t.lastID = max(t.lastID, int64(series.LastID))
		if series.Live {
			for i := range t.Columns {
				if t.live && (i >= len(series.Columns) || storage.Fold(t.Columns[i].Name) != storage.Fold(series.Columns[i].Name)) {
					return fmt.Errorf("%w: the table has other columns", storage.ErrConflict)
				}
			}
			if !t.live {
				b.Queue(`INSERT INTO sake_games AS g (game, tables, records) VALUES ($1, 1, 0)
					ON CONFLICT (game) DO UPDATE SET tables = g.tables + 1`, series.Game)
			}
			t.live, t.Name, t.Columns = true, series.Name, series.Columns
		}
		if err := t.queueUpdate(&b, 0, 0, true); err != nil {
			return err
		}
		return c.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return fmt.Errorf("import SAKE table %s/%s: %w", series.Game, series.Name, err)
	}
	return nil
}

// ratingPage is the number of ratings that GivenRatings reads at once.
const ratingPage = 1024

// GivenRatings is described in [storage.Carrier].
func (s *Store) GivenRatings(ctx context.Context, table storage.SakeTableID) iter.Seq2[storage.GivenRating, error] {
	return iteratePages(ctx, s, ratingPage, func(ctx context.Context, q querier, last *storage.GivenRating) ([]item[storage.GivenRating], error) {
		var at storage.GivenRating
		if last != nil {
			at = *last
		}
		rows, err := q.Query(ctx, `SELECT id, rater, rating FROM sake_ratings
			WHERE table_no = (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2) AND (id, rater) > ($3, $4)
			ORDER BY id, rater LIMIT $5`, lookup(table.Game), lookup(storage.Fold(table.Name)), int64(at.ID), int64(at.Rater), ratingPage)
		return collect(rows, err, func(row pgx.Row, r *storage.GivenRating) error { return row.Scan(&r.ID, &r.Rater, &r.Rating) })
	})
}

// ImportRatings is described in [storage.Carrier].
func (s *Store) ImportRatings(ctx context.Context, table storage.SakeTableID, ratings []storage.GivenRating) error {
	return imports(ctx, s, ratings, func(b *pgx.Batch, r storage.GivenRating) error {
		b.Queue(`INSERT INTO sake_ratings (table_no, id, rater, rating) SELECT number, $3::bigint, $4::bigint, $5::smallint
			FROM sake_tables WHERE game = $1 AND folded = $2 ON CONFLICT DO NOTHING`,
			lookup(table.Game), lookup(storage.Fold(table.Name)), int64(r.ID), int64(r.Rater), r.Rating)
		return nil
	})
}
