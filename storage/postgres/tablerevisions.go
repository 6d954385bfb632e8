package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Revisions = (*Store)(nil)

// Revisions implements storage.Revisions. Triggers of the tables keep the numbers.
func (s *Store) Revisions(ctx context.Context) (revisions map[string]int64, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT name, rev FROM table_revisions`)
		if err != nil {
			return err
		}
		revisions = make(map[string]int64)
		var name string
		var rev int64
		_, err = pgx.ForEachRow(rows, []any{&name, &rev}, func() error {
			revisions[name] = rev
			return nil
		})
		return err
	})
	return revisions, err
}
