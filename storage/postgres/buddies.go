package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// pageIDs is the number of ids that an iteration reads in one step: a whole list
// of buddies, in the ordinary case.
const pageIDs = 1024

// checkPair returns an error for relations that no profiles can have.
func checkPair(one, other storage.ProfileID) error {
	if one == other {
		return fmt.Errorf("%w: a profile has no relation to itself", storage.ErrInvalid)
	}
	for _, id := range []storage.ProfileID{one, other} {
		if id == 0 || id > storage.MaxAccountID {
			return fmt.Errorf("profile %d: %w", id, storage.ErrNotFound)
		}
	}
	return nil
}

// queueLockProfiles queues the lock under which records of profiles are counted. It leaves their
// rows usable for foreign keys. The statements after it see the changes of earlier holders of the lock.
func queueLockProfiles(b *pgx.Batch, ids ...storage.ProfileID) {
	b.Queue(`SELECT FROM profiles WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`, numbers(ids))
}

func numbers[ID storage.ProfileID | storage.UserID](ids []ID) []int64 {
	all := make([]int64, len(ids))
	for i, id := range ids {
		all[i] = int64(id)
	}
	return all
}

// pairState is why a pair of profiles was added to a list, or was not.
type pairState struct {
	there bool // both exist
	taken bool // the pair was in the list
	n     int  // length of the list
}

func (p *pairState) scan(row pgx.Row) error { return row.Scan(&p.there, &p.taken, &p.n) }

// err returns the error for a pair that was not added.
func (p *pairState) err(list string, owner storage.ProfileID, index string, limit int) error {
	switch {
	case !p.there:
		return fmt.Errorf("profile %d or the other: %w", owner, storage.ErrNotFound)
	case p.taken:
		return &storage.TakenError{Index: index}
	case p.n >= limit:
		return fmt.Errorf("%s of profile %d: %w", list, owner, storage.ErrFull)
	}
	return nil
}

// sqlPairState are the CTEs state and room of a pair ($1, $2) in a table, whose
// rows are limited by $3 for each owner.
func sqlPairState(table string) string {
	return `state AS (
			SELECT (SELECT count(*) FROM profiles WHERE id IN ($1::int, $2::int)) = 2 AS there,
				EXISTS (SELECT FROM ` + table + ` WHERE owner = $1 AND other = $2) AS taken,
				(SELECT count(*) FROM ` + table + ` WHERE owner = $1) AS n
		), room AS (SELECT FROM state WHERE there AND NOT taken AND n < $3)`
}

// AddBuddy is described in [storage.Buddies].
func (s *Store) AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.addPair(ctx, owner, buddy, "buddies", storage.IndexBuddy, storage.MaxBuddies, `WITH `+sqlPairState("buddies")+`,
		added AS (INSERT INTO buddies (owner, other) SELECT $1, $2 FROM room),
		closed AS (DELETE FROM requests WHERE recipient = $2 AND sender = $1 AND EXISTS (SELECT FROM room))
		SELECT there, taken, n FROM state`)
}

// AddBlock is described in [storage.Buddies].
func (s *Store) AddBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.addPair(ctx, owner, other, "blocks", storage.IndexBlock, storage.MaxBlocks, `WITH `+sqlPairState("blocks")+`,
		added AS (INSERT INTO blocks (owner, other) SELECT $1, $2 FROM room)
		SELECT there, taken, n FROM state`)
}

// addPair runs a statement that adds a pair to a list.
func (s *Store) addPair(ctx context.Context, owner, other storage.ProfileID, list, index string, limit int, sql string) error {
	return s.once(ctx, func(ctx context.Context, c *change) error {
		if err := checkPair(owner, other); err != nil {
			return err
		}
		var state pairState
		b := &pgx.Batch{}
		queueLockProfiles(b, owner)
		b.Queue(sql, owner, other, limit).QueryRow(state.scan)
		if err := c.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		return state.err(list, owner, index, limit)
	})
}

// remove runs a statement that deletes rows, and returns ErrNotFound if there
// were none.
func (s *Store) remove(ctx context.Context, sql string, args ...any) error {
	return s.once(ctx, func(ctx context.Context, c *change) error {
		tag, err := c.Exec(ctx, sql, args...)
		if err == nil && tag.RowsAffected() == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}

// RemoveBuddy is described in [storage.Buddies].
func (s *Store) RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.remove(ctx, `DELETE FROM buddies WHERE owner = $1::bigint AND other = $2::bigint`, owner, buddy)
}

// RemoveBlock is described in [storage.Buddies].
func (s *Store) RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.remove(ctx, `DELETE FROM blocks WHERE owner = $1::bigint AND other = $2::bigint`, owner, other)
}

// pairs yields the ids that a query finds for a profile: $1 is the profile, $2
// the last id of the page before, $3 the length of a page.
func (s *Store) pairs(ctx context.Context, id storage.ProfileID, sql string) iter.Seq2[storage.ProfileID, error] {
	return iteratePages(ctx, s, pageIDs,
		func(ctx context.Context, q querier, last *storage.ProfileID) ([]item[storage.ProfileID], error) {
			var after storage.ProfileID
			if last != nil {
				after = *last
			}
			rows, err := q.Query(ctx, sql, id, after, pageIDs)
			return collect(rows, err, func(row pgx.Row, id *storage.ProfileID) error { return row.Scan(id) })
		})
}

// BuddiesOf is described in [storage.Buddies].
func (s *Store) BuddiesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, owner, `SELECT other FROM buddies WHERE owner = $1::bigint AND other > $2::bigint ORDER BY other LIMIT $3`)
}

// HaveAsBuddy is described in [storage.Buddies].
func (s *Store) HaveAsBuddy(ctx context.Context, buddy storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, buddy, `SELECT owner FROM buddies WHERE other = $1::bigint AND owner > $2::bigint ORDER BY owner LIMIT $3`)
}

// BlocksOf is described in [storage.Buddies].
func (s *Store) BlocksOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, owner, `SELECT other FROM blocks WHERE owner = $1::bigint AND other > $2::bigint ORDER BY other LIMIT $3`)
}

// sqlUnblocked is the condition that two columns do not block each other.
func sqlUnblocked(one, other string) string {
	return ` NOT EXISTS (SELECT FROM blocks x WHERE x.owner = ` + one + ` AND x.other = ` + other + `)
		AND NOT EXISTS (SELECT FROM blocks x WHERE x.owner = ` + other + ` AND x.other = ` + one + `)`
}

// Watched is described in [storage.Buddies].
func (s *Store) Watched(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, owner, `SELECT b.other FROM buddies b WHERE b.owner = $1::bigint AND b.other > $2::bigint
		AND`+sqlUnblocked("b.owner", "b.other")+` ORDER BY b.other LIMIT $3`)
}

// Watchers is described in [storage.Buddies].
func (s *Store) Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, id, `SELECT b.owner FROM buddies b WHERE b.other = $1::bigint AND b.owner > $2::bigint
		AND`+sqlUnblocked("b.owner", "b.other")+` ORDER BY b.owner LIMIT $3`)
}

// Relation is described in [storage.Buddies].
func (s *Store) Relation(ctx context.Context, one, other storage.ProfileID) (r storage.Relation, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT
			EXISTS (SELECT FROM buddies WHERE owner = $1::bigint AND other = $2::bigint),
			EXISTS (SELECT FROM buddies WHERE owner = $2::bigint AND other = $1::bigint),
			EXISTS (SELECT FROM blocks WHERE owner = $1::bigint AND other = $2::bigint),
			EXISTS (SELECT FROM blocks WHERE owner = $2::bigint AND other = $1::bigint)`,
			one, other).Scan(&r.Buddy, &r.BuddyOf, &r.Blocks, &r.BlockedBy)
	})
	return r, err
}

// ImportRelations is described in [storage.Buddies].
func (s *Store) ImportRelations(ctx context.Context, owner storage.ProfileID, buddies, blocks []storage.ProfileID) error {
	if owner == 0 || owner > storage.MaxAccountID {
		buddies, blocks = nil, nil // the step finds no such profile
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		var there, used, hasBuddies, hasBlocks bool
		b := &pgx.Batch{}
		queueLockProfiles(b, owner)
		// Of each id the first mention counts. The lock keeps profiles from being
		// deleted before the end of the step.
		chosen := func(ids, limit string) string {
			return `SELECT id FROM (
				SELECT p.id, n FROM profiles p
				JOIN (SELECT id, min(n) AS n FROM unnest(` + ids + `::bigint[]) WITH ORDINALITY AS w (id, n) GROUP BY id) w ON p.id = w.id
				WHERE p.id <> $1 AND EXISTS (SELECT FROM room) FOR KEY SHARE OF p
			) found ORDER BY n LIMIT ` + limit
		}
		b.Queue(`
			WITH state AS (
				SELECT EXISTS (SELECT FROM profiles WHERE id = $1::bigint) AS there,
					(SELECT is_called AND $1 BETWEEN 1 AND last_value FROM profile_ids) AS used,
					EXISTS (SELECT FROM buddies WHERE owner = $1) AS buddies,
					EXISTS (SELECT FROM blocks WHERE owner = $1) AS blocks
			), room AS (
				SELECT FROM state WHERE there AND NOT buddies AND NOT blocks
			), chosen AS (`+chosen("$2", "$4")+`
			), added AS (
				INSERT INTO buddies (owner, other) SELECT $1, id FROM chosen
			), closed AS (
				DELETE FROM requests WHERE sender = $1 AND recipient IN (SELECT id FROM chosen)
			), rejected AS (`+chosen("$3", "$5")+`
			), blocked AS (
				INSERT INTO blocks (owner, other) SELECT $1, id FROM rejected
			)
			SELECT there, used, buddies, blocks FROM state`,
			int64(owner), numbers(buddies), numbers(blocks), storage.MaxBuddies, storage.MaxBlocks).
			QueryRow(func(row pgx.Row) error { return row.Scan(&there, &used, &hasBuddies, &hasBlocks) })
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case !there:
			return notThere(used)
		case hasBuddies:
			return &storage.TakenError{Index: storage.IndexBuddy}
		case hasBlocks:
			return &storage.TakenError{Index: storage.IndexBlock}
		}
		c.idle = len(buddies)+len(blocks) == 0
		return nil
	})
}
