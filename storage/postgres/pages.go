package postgres

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"
)

// pageRecords is the number of records that an iteration reads in one step. It
// yields them without a connection.
const pageRecords = 256

// item is one step of an iteration.
type item[R any] struct {
	record R
	err    error // that the record is damaged
}

// A pager reads the page that begins behind the last item of the one before;
// first says that there is none before. A page of fewer than pageRecords items is
// the last.
type pager[R any] func(ctx context.Context, q querier, last *R) ([]item[R], error)

// iterate yields records page by page.
func iterate[R any](ctx context.Context, s *Store, page pager[R]) iter.Seq2[R, error] {
	return iteratePages(ctx, s, pageRecords, page)
}

// iteratePages is iterate with pages of another length.
func iteratePages[R any](ctx context.Context, s *Store, length int, page pager[R]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var last *R
		for {
			var items []item[R]
			err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
				items, err = page(ctx, q, last)
				return err
			})
			if err != nil {
				var zero R
				yield(zero, err)
				return
			}
			for _, it := range items {
				if !yield(it.record, it.err) {
					return
				}
			}
			if len(items) < length {
				return
			}
			last = &items[len(items)-1].record
		}
	}
}

// collect returns the items of a result. scan reads one row; an error of it that
// matches storage.ErrDamaged belongs to the item. It sets the key of the record,
// which is in columns, also then: the next page begins behind it.
func collect[R any](rows pgx.Rows, err error, scan func(pgx.Row, *R) error) ([]item[R], error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []item[R]
	for rows.Next() {
		var it item[R]
		if err := scan(rows, &it.record); isDamage(err) {
			it.err = err
		} else if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, rows.Err()
}
