package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// statParts is the number of rows of stat_totals.
const statParts = 64

// lockProfiles keeps profiles from being deleted until the end of the step and returns
// those that exist, in the order of ids.
func lockProfiles(b *pgx.Batch, ids []storage.ProfileID, found *[]storage.ProfileID) {
	*found = nil
	b.Queue(`SELECT id FROM profiles WHERE id = ANY($1::bigint[]) ORDER BY id FOR KEY SHARE`, bigints(ids)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			*found = append(*found, storage.ProfileID(id))
		}
		return rows.Err()
	})
}

// bigints returns numbers in the type of their columns.
func bigints[N ~int | ~int32 | ~int64 | ~uint32](ns []N) []int64 {
	all := make([]int64, len(ns))
	for i, n := range ns {
		all[i] = int64(n)
	}
	return all
}

// statSize is a row of stat_sizes.
type statSize struct {
	storage.StatSize

	scores int
}

// lockSizes locks the rows of stat_sizes of profiles, makes those that are missing, and
// returns them. Profiles that do not exist have none.
func lockSizes(b *pgx.Batch, ids []storage.ProfileID, sizes map[storage.ProfileID]statSize) {
	clear(sizes)
	b.Queue(`INSERT INTO stat_sizes (profile) SELECT id FROM profiles WHERE id = ANY($1::bigint[]) ORDER BY id
		ON CONFLICT DO NOTHING`, bigints(ids))
	b.Queue(`SELECT profile, blocks, bytes, scores FROM stat_sizes WHERE profile = ANY($1) ORDER BY profile
		FOR NO KEY UPDATE`, bigints(ids)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id int64
			var size statSize
			if err := rows.Scan(&id, &size.Blocks, &size.Bytes, &size.scores); err != nil {
				return err
			}
			sizes[storage.ProfileID(id)] = size
		}
		return rows.Err()
	})
}

// growSize changes how much a profile has stored, and the totals.
func growSize(b *pgx.Batch, id storage.ProfileID, blocks int, bytes int64) {
	if blocks == 0 && bytes == 0 {
		return
	}
	b.Queue(`UPDATE stat_sizes SET blocks = blocks + $2, bytes = bytes + $3 WHERE profile = $1`, int64(id), blocks, bytes)
	b.Queue(`UPDATE stat_totals SET blocks = blocks + $2, bytes = bytes + $3 WHERE part = $1`, int64(id)%statParts, blocks, bytes)
}

// GetStatBlock is described in [storage.Stats].
func (s *Store) GetStatBlock(ctx context.Context, id storage.StatBlockID) (storage.StatBlock, error) {
	if err := id.Check(); err != nil {
		return storage.StatBlock{}, err
	}
	b := storage.StatBlock{StatBlockID: id}
	var modified int64
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT modified, data FROM stat_blocks
			WHERE profile = $1 AND game = $2 AND index = $3 AND kind = $4`,
			int64(id.Profile), id.Game, id.Index, int16(id.Kind)).Scan(&modified, &b.Data)
	})
	if err != nil {
		return storage.StatBlock{}, err
	}
	b.Modified, b.Data = time.Unix(modified, 0).UTC(), orNil(b.Data)
	return b, nil
}

// orNil returns nil for bytes of length 0.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// blockBefore is the state that EditStatBlock reads.
type blockBefore struct {
	profiles []storage.ProfileID
	sizes    map[storage.ProfileID]statSize
	there    bool
	old      []byte
	latest   int64 // change of a block with the same index, of whatever kind
}

// lockBlock reads and locks the rows that a change of a block depends on.
func lockBlock(ctx context.Context, q querier, id storage.StatBlockID) (before blockBefore, err error) {
	before.sizes = make(map[storage.ProfileID]statSize)
	var b pgx.Batch
	ids := []storage.ProfileID{id.Profile}
	lockProfiles(&b, ids, &before.profiles)
	lockSizes(&b, ids, before.sizes)
	b.Queue(`SELECT kind, modified, CASE WHEN kind = $4 THEN data END FROM stat_blocks
		WHERE profile = $1 AND game = $2 AND index = $3`,
		int64(id.Profile), id.Game, id.Index, int16(id.Kind)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var kind int16
			var modified int64
			var data []byte
			if err := rows.Scan(&kind, &modified, &data); err != nil {
				return err
			}
			before.latest = max(before.latest, modified)
			if kind == int16(id.Kind) {
				before.there, before.old = true, data
			}
		}
		return rows.Err()
	})
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return before, err
	}
	if len(before.profiles) == 0 {
		return before, fmt.Errorf("profile %d: %w", id.Profile, storage.ErrNotFound)
	}
	return before, nil
}

// EditStatBlock is described in [storage.Stats].
func (s *Store) EditStatBlock(ctx context.Context, id storage.StatBlockID, limit int64, at time.Time,
	edit func(old []byte) ([]byte, error),
) (storage.StatBlock, error) {
	if err := id.Check(); err != nil {
		return storage.StatBlock{}, err
	}
	var second int64
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		before, err := lockBlock(ctx, c, id)
		if err != nil {
			return err
		}
		data, err := edit(before.old)
		if err != nil {
			return err
		}
		if len(data) > storage.MaxStatBlock {
			return fmt.Errorf("%w: block is longer than %d bytes", storage.ErrInvalid, storage.MaxStatBlock)
		}
		blocks, bytes := 0, int64(len(data)-len(before.old))
		if !before.there {
			blocks = 1
		}
		size := before.sizes[id.Profile].StatSize
		if size.Blocks, size.Bytes = size.Blocks+blocks, size.Bytes+bytes; bytes > 0 && size.Bytes > limit ||
			blocks > 0 && size.Blocks > storage.MaxStatBlocks {
			return storage.ErrStatsFull(id.Profile, size, limit)
		}
		second = storage.NextStatSecond(before.latest, at)
		var b pgx.Batch
		b.Queue(`INSERT INTO stat_blocks (profile, game, index, kind, modified, data) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (profile, game, index, kind) DO UPDATE SET modified = excluded.modified, data = excluded.data`,
			int64(id.Profile), id.Game, id.Index, int16(id.Kind), second, notNil(data))
		growSize(&b, id.Profile, blocks, bytes)
		return c.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return storage.StatBlock{}, err
	}
	return storage.StatBlock{StatBlockID: id, Modified: time.Unix(second, 0).UTC()}, nil
}

// notNil returns bytes that are not NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// DeleteStatBlock is described in [storage.Stats].
func (s *Store) DeleteStatBlock(ctx context.Context, id storage.StatBlockID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, c *change) error {
		before, err := lockBlock(ctx, c, id)
		if err != nil {
			return err
		}
		if !before.there {
			return storage.ErrNotFound
		}
		var b pgx.Batch
		b.Queue(`DELETE FROM stat_blocks WHERE profile = $1 AND game = $2 AND index = $3 AND kind = $4`,
			int64(id.Profile), id.Game, id.Index, int16(id.Kind))
		growSize(&b, id.Profile, -1, -int64(len(before.old)))
		return c.SendBatch(ctx, &b).Close()
	})
}

// StatBlocks is described in [storage.Stats].
func (s *Store) StatBlocks(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error] {
	return iterateSized(ctx, s, func(ctx context.Context, q querier, last *storage.StatBlock) ([]item[storage.StatBlock], error) {
		if last == nil {
			last = &storage.StatBlock{}
		}
		rows, err := q.Query(ctx, `SELECT game, index, kind, modified, data FROM (
				SELECT *, sum(length(data)) OVER (ORDER BY game, index, kind) - length(data) AS ahead FROM (
					SELECT * FROM stat_blocks WHERE profile = $1 AND (game, index, kind) > ($2, $3, $4)
					ORDER BY game, index, kind LIMIT $5) AS b) AS b
			WHERE ahead < $6 ORDER BY game, index, kind`,
			int64(id), last.Game, last.Index, int16(last.Kind), pageRecords, pageBytes)
		return collect(rows, err, func(row pgx.Row, b *storage.StatBlock) error {
			var modified int64
			err := row.Scan(&b.Game, &b.Index, &b.Kind, &modified, &b.Data)
			b.Profile, b.Modified, b.Data = id, time.Unix(modified, 0).UTC(), orNil(b.Data)
			return err
		})
	})
}

// StatSizeOf is described in [storage.Stats].
func (s *Store) StatSizeOf(ctx context.Context, id storage.ProfileID) (size storage.StatSize, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT blocks, bytes FROM stat_sizes WHERE profile = $1`, int64(id)).Scan(&size.Blocks, &size.Bytes)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return storage.StatSize{}, nil
	}
	return size, err
}

// StatTotals is described in [storage.Stats].
func (s *Store) StatTotals(ctx context.Context) (t storage.StatTotals, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT (SELECT sum(blocks) FROM stat_totals)::bigint, (SELECT sum(bytes) FROM stat_totals)::bigint,
			reports, bytes FROM report_totals`).Scan(&t.Blocks, &t.BlockBytes, &t.Reports, &t.ReportBytes)
	})
	if err != nil {
		return storage.StatTotals{}, err
	}
	return t, nil
}

// DeleteStats is described in [storage.Stats].
func (s *Store) DeleteStats(ctx context.Context, id storage.ProfileID) (n int, err error) {
	if id > storage.MaxAccountID {
		id = 0
	}
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		n, err = dropStats(ctx, c, id)
		c.idle = n == 0
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// dropStats removes all blocks and scores of a profile and returns how many there were.
func dropStats(ctx context.Context, q querier, id storage.ProfileID) (int, error) {
	var b pgx.Batch
	sizes := make(map[storage.ProfileID]statSize)
	lockSizes(&b, []storage.ProfileID{id}, sizes)
	scores := queueScoresOf(&b, id)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	size, ok := sizes[id]
	if !ok {
		return 0, nil
	}
	b = pgx.Batch{}
	b.Queue(`DELETE FROM stat_blocks WHERE profile = $1`, int64(id))
	growSize(&b, id, -size.Blocks, -size.Bytes)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	changes := make([]scoreChange, 0, len(*scores))
	for _, score := range *scores {
		changes = append(changes, scoreChange{id: score.ScoreID, old: score, had: true})
	}
	return size.Blocks + len(changes), putScores(ctx, q, changes, nil)
}

// ImportStats is described in [storage.Stats].
func (s *Store) ImportStats(ctx context.Context, id storage.ProfileID, blocks []storage.StatBlock, scores []storage.Score) error {
	if err := storage.CheckStatImport(id, blocks, scores); err != nil {
		return err
	}
	blocks = slices.Clone(blocks)
	changes := make([]scoreChange, 0, len(scores))
	size := int64(0)
	for i := range blocks {
		var err error
		if blocks[i], err = blocks[i].Canonical(); err != nil {
			return err
		}
		size += int64(len(blocks[i].Data))
	}
	for _, score := range scores {
		score, err := score.Canonical()
		if err != nil {
			return err
		}
		changes = append(changes, scoreChange{id: score.ScoreID, next: score, has: true})
	}
	if id == 0 || id > math.MaxInt32 {
		return fmt.Errorf("profile %d: %w", id, storage.ErrNotFound)
	}
	var outgrown []chunk
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		outgrown = nil
		if err := importBlocks(ctx, c, id, blocks, size); err != nil {
			return err
		}
		return putScores(ctx, c, changes, &outgrown)
	})
	if err != nil {
		return err
	}
	s.arrange(ctx, outgrown)
	return nil
}

// importBlocks stores the blocks of a profile that has neither blocks nor scores.
func importBlocks(ctx context.Context, q querier, id storage.ProfileID, blocks []storage.StatBlock, size int64) error {
	var b pgx.Batch
	var profiles []storage.ProfileID
	sizes := make(map[storage.ProfileID]statSize)
	lockProfiles(&b, []storage.ProfileID{id}, &profiles)
	lockSizes(&b, []storage.ProfileID{id}, sizes)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	if len(profiles) == 0 {
		return fmt.Errorf("profile %d: %w", id, storage.ErrNotFound)
	}
	if had := sizes[id]; had.Blocks+had.scores > 0 {
		return fmt.Errorf("blocks of profile %d: %w", id, storage.ErrTaken)
	}
	b = pgx.Batch{}
	var games []string
	var indexes, kinds []int32
	var modified []int64
	var data [][]byte
	for i := range blocks {
		x := &blocks[i]
		games, indexes, kinds = append(games, x.Game), append(indexes, x.Index), append(kinds, int32(x.Kind))
		modified, data = append(modified, x.Modified.Unix()), append(data, notNil(x.Data))
	}
	b.Queue(`INSERT INTO stat_blocks (profile, game, index, kind, modified, data)
		SELECT $1::bigint, * FROM unnest($2::text[], $3::int[], $4::int[], $5::bigint[], $6::bytea[])`,
		int64(id), games, indexes, kinds, modified, data)
	growSize(&b, id, len(blocks), size)
	return q.SendBatch(ctx, &b).Close()
}
