package postgres

import "context"

// dropProfiles removes profiles with all data that belongs to them, as a part of
// a step. Rows that refer to a profile with ON DELETE CASCADE need nothing here;
// records that are counted elsewhere do.
func dropProfiles(ctx context.Context, q querier, ids []int32) error {
	if err := dropPlayers(ctx, q, ids); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `DELETE FROM profiles WHERE id = ANY($1)`, ids)
	return err
}
