package postgres

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// PutMotd is described in [storage.News].
func (s *Store) PutMotd(ctx context.Context, m storage.Motd) error {
	m, err := m.Canonical()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.putSmall(ctx, "motds", storage.MaxMotds, func(b *pgx.Batch, inserted func(pgx.Rows) error) {
		b.Queue(`INSERT INTO motds (game, doc) VALUES ($1, $2) ON CONFLICT (game) DO UPDATE SET doc = excluded.doc
			RETURNING xmax = 0`, m.Game, doc).Query(inserted)
	})
}

// RemoveMotd is described in [storage.News].
func (s *Store) RemoveMotd(ctx context.Context, game string) error {
	return s.removeSmall(ctx, "motds", `game = $1`, lookup(game))
}

// Motds is described in [storage.News].
func (s *Store) Motds(ctx context.Context) iter.Seq2[storage.Motd, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Motd) ([]item[storage.Motd], error) {
		from := ""
		if last != nil {
			from = last.Game
		}
		rows, err := q.Query(ctx, `SELECT game, doc FROM motds WHERE game > $1 ORDER BY game LIMIT $2`, from, pageRecords)
		return collect(rows, err, func(row pgx.Row, m *storage.Motd) error {
			var game string
			var doc []byte
			if err := row.Scan(&game, &doc); err != nil {
				return err
			}
			err := decode(doc, m, "message of the day of", game)
			m.Game = game
			return err
		})
	})
}

// PutPatch is described in [storage.News].
func (s *Store) PutPatch(ctx context.Context, p storage.Patch) error {
	p, err := p.Canonical()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.putSmall(ctx, "patches", storage.MaxPatches, func(b *pgx.Batch, inserted func(pgx.Rows) error) {
		b.Queue(`INSERT INTO patches (product, version, doc) VALUES ($1, $2, $3)
			ON CONFLICT (product, version) DO UPDATE SET doc = excluded.doc RETURNING xmax = 0`,
			int64(p.Product), p.Version, doc).Query(inserted)
	})
}

// RemovePatch is described in [storage.News].
func (s *Store) RemovePatch(ctx context.Context, id storage.PatchID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.removeSmall(ctx, "patches", `product = $1 AND version = $2`, int64(id.Product), id.Version)
}

// Patches is described in [storage.News].
func (s *Store) Patches(ctx context.Context) iter.Seq2[storage.Patch, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Patch) ([]item[storage.Patch], error) {
		from := storage.PatchID{Product: -1}
		if last != nil {
			from = last.PatchID
		}
		rows, err := q.Query(ctx, `SELECT product, version, doc FROM patches WHERE (product, version) > ($1, $2)
			ORDER BY product, version LIMIT $3`, int64(from.Product), from.Version, pageRecords)
		return collect(rows, err, func(row pgx.Row, p *storage.Patch) error {
			var id storage.PatchID
			var doc []byte
			if err := row.Scan(&id.Product, &id.Version, &doc); err != nil {
				return err
			}
			err := decode(doc, p, "patch of", id)
			p.PatchID = id
			return err
		})
	})
}
