package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

func scanRoom(row pgx.Row, r *storage.Room) error {
	var id uint32
	var game string
	var rev storage.Rev
	var doc []byte
	if err := row.Scan(&id, &game, &rev, &doc); err != nil {
		return err
	}
	err := decode(doc, r, "room", id)
	r.ID, r.Game, r.Rev = id, game, rev
	return err
}

// PutRoom is described in [storage.Rooms].
func (s *Store) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	if err := r.Check(); err != nil {
		return storage.Room{}, err
	}
	doc, err := encode(r, "id", "game", "rev")
	if err != nil {
		return storage.Room{}, err
	}
	stored := r
	stored.Fields = slices.Clone(r.Fields)
	switch {
	case r.ID == 0:
		err = s.addRoom(ctx, &stored, doc)
	case r.Rev == 0:
		err = s.once(ctx, func(ctx context.Context, c *change) error {
			rev, err := inserted(c.QueryRow(ctx, `INSERT INTO rooms (id, game, rev, doc) VALUES ($1, $2, nextval('revs'), $3)
				ON CONFLICT (id) DO NOTHING RETURNING rev`, r.ID, r.Game, doc), storage.IndexRoomID)
			stored.Rev, c.id = rev, r.ID
			return err
		})
	default:
		err = s.once(ctx, func(ctx context.Context, c *change) error {
			rev, err := updated(c.QueryRow(ctx, `
				WITH updated AS (
					UPDATE rooms SET game = $3, rev = nextval('revs'), doc = $4 WHERE id = $1 AND rev = $2 RETURNING rev
				)
				SELECT coalesce((SELECT rev FROM updated), 0), EXISTS (SELECT FROM rooms WHERE id = $1)`,
				r.ID, int64(r.Rev), r.Game, doc))
			stored.Rev, c.id = rev, r.ID
			return err
		})
	}
	if err != nil {
		return storage.Room{}, fmt.Errorf("room %d %q: %w", r.ID, r.Name, err)
	}
	return stored, nil
}

// maxRoomTries is how often addRoom looks for a free id. Each try passes over all
// ids in a row that operators chose.
const maxRoomTries = 100

// addRoom stores a room under the id after the last one that it assigned, skipping
// those that operators chose. So the id of a deleted room is not soon reused.
func (s *Store) addRoom(ctx context.Context, r *storage.Room, doc []byte) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		for range maxRoomTries {
			err := c.QueryRow(ctx, `INSERT INTO rooms (id, game, rev, doc) VALUES (nextval('room_ids'), $1, nextval('revs'), $2)
				ON CONFLICT (id) DO NOTHING RETURNING id, rev`, r.Game, doc).Scan(&r.ID, &r.Rev)
			if err == nil {
				c.id = r.ID
				return nil
			}
			if !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			// The last id of the run of taken ones: the next id is behind it.
			_, err = c.Exec(ctx, `SELECT setval('room_ids', min(id)) FROM rooms
				WHERE id >= currval('room_ids') AND NOT EXISTS (SELECT FROM rooms o WHERE o.id = rooms.id + 1::bigint)`)
			if err != nil {
				return err
			}
		}
		return fmt.Errorf("%w: no free id was found", storage.ErrFull)
	})
}

// GetRoom is described in [storage.Rooms].
func (s *Store) GetRoom(ctx context.Context, id uint32) (r storage.Room, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return scanRoom(q.QueryRow(ctx, `SELECT id, game, rev, doc FROM rooms WHERE id = $1::bigint`, int64(id)), &r)
	})
	if err != nil {
		return storage.Room{}, err
	}
	return r, nil
}

// DeleteRoom is described in [storage.Rooms].
func (s *Store) DeleteRoom(ctx context.Context, id uint32) error {
	return s.remove(ctx, `DELETE FROM rooms WHERE id = $1::bigint`, int64(id))
}

// Rooms is described in [storage.Rooms].
func (s *Store) Rooms(ctx context.Context, game string) iter.Seq2[storage.Room, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Room) ([]item[storage.Room], error) {
		var after int64
		if last != nil {
			after = int64(last.ID)
		}
		if game == "" {
			rows, err := q.Query(ctx, `SELECT id, game, rev, doc FROM rooms WHERE id > $1::bigint ORDER BY id LIMIT $2`,
				after, pageRecords)
			return collect(rows, err, scanRoom)
		}
		if !isText(game) {
			return nil, nil
		}
		rows, err := q.Query(ctx, `SELECT id, game, rev, doc FROM rooms WHERE game = $1 AND id > $2::bigint ORDER BY id LIMIT $3`,
			game, after, pageRecords)
		return collect(rows, err, scanRoom)
	})
}
