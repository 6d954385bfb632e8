package postgres

import (
	"context"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// dropPlayers removes the data that games stored for profiles: their blocks, scores, SAKE records
// and files. Their matches forget them; reported games stay.
func dropPlayers(ctx context.Context, q querier, ids []int32) error {
	if _, err := q.Exec(ctx, `SELECT FROM profiles WHERE id = ANY($1) ORDER BY id FOR UPDATE`, ids); err != nil {
		return err
	}
	for _, n := range slices.Sorted(slices.Values(ids)) {
		id := storage.ProfileID(n)
		if err := forgetMatches(ctx, q, id); err != nil {
			return err
		}
		if _, err := dropStats(ctx, q, id); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM stat_sizes WHERE profile = $1`, int64(id)); err != nil {
			return err
		}
		if err := dropSake(ctx, q, id); err != nil {
			return err
		}
		if err := dropFilesOf(ctx, q, id); err != nil {
			return err
		}
	}
	return nil
}
