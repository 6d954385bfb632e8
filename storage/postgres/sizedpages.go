package postgres

import (
	"context"
	"iter"
)

// pageBytes is the size at which a page of large records ends, after the record that
// exceeds it.
const pageBytes = 1 << 20

// iterateSized is iterate for records that may be large: a page may end early, so only
// an empty one is the last.
func iterateSized[R any](ctx context.Context, s *Store, page pager[R]) iter.Seq2[R, error] {
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
			if len(items) == 0 {
				return
			}
			last = &items[len(items)-1].record
		}
	}
}
