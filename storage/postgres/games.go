package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

func scanGame(row pgx.Row, g *storage.Game) error {
	var name string
	var rev storage.Rev
	var doc []byte
	if err := row.Scan(&name, &rev, &doc); err != nil {
		return err
	}
	err := decode(doc, g, "game", name)
	g.Name, g.Rev = name, rev
	return err
}

// encodeGame returns the doc of a game.
func encodeGame(g *storage.Game) ([]byte, error) {
	g.Changed = g.Changed.Round(0).UTC()
	return encode(g, "name", "rev")
}

// PutGame is described in [storage.Games].
func (s *Store) PutGame(ctx context.Context, g storage.Game) (storage.Game, error) {
	if err := g.Check(); err != nil {
		return storage.Game{}, err
	}
	doc, err := encodeGame(&g)
	if err != nil {
		return storage.Game{}, err
	}
	stored := g
	stored.Doc = append([]byte(nil), g.Doc...)
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		if g.Rev == 0 {
			rev, err := inserted(c.QueryRow(ctx, `INSERT INTO games (name, rev, doc) VALUES ($1, nextval('revs'), $2)
				ON CONFLICT (name) DO NOTHING RETURNING rev`, g.Name, doc), storage.IndexGameName)
			stored.Rev = rev
			return err
		}
		rev, err := updated(c.QueryRow(ctx, `
			WITH updated AS (
				UPDATE games SET rev = nextval('revs'), doc = $3 WHERE name = $1 AND rev = $2 RETURNING rev
			)
			SELECT coalesce((SELECT rev FROM updated), 0), EXISTS (SELECT FROM games WHERE name = $1)`,
			g.Name, int64(g.Rev), doc))
		stored.Rev = rev
		return err
	})
	if err != nil {
		return storage.Game{}, fmt.Errorf("game %q: %w", g.Name, err)
	}
	return stored, nil
}

// SetGames is described in [storage.Games].
func (s *Store) SetGames(ctx context.Context, list []storage.Game) error {
	if err := storage.CheckGames(list); err != nil {
		return err
	}
	docs := make([][]byte, len(list))
	for i, g := range list {
		var err error
		if docs[i], err = encodeGame(&g); err != nil {
			return err
		}
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		b := &pgx.Batch{}
		for i := range list { // one after the other: a list may have a name twice
			b.Queue(`INSERT INTO games (name, rev, doc) VALUES ($1, nextval('revs'), $2)
				ON CONFLICT (name) DO UPDATE SET rev = excluded.rev, doc = excluded.doc`, list[i].Name, docs[i])
		}
		return c.SendBatch(ctx, b).Close()
	})
}

// GetGame is described in [storage.Games].
func (s *Store) GetGame(ctx context.Context, name string) (g storage.Game, err error) {
	if !isText(name) {
		return g, storage.ErrNotFound
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return scanGame(q.QueryRow(ctx, `SELECT name, rev, doc FROM games WHERE name = $1`, name), &g)
	})
	if err != nil {
		return storage.Game{}, err
	}
	return g, nil
}

// DeleteGame is described in [storage.Games].
func (s *Store) DeleteGame(ctx context.Context, name string) error {
	if !isText(name) {
		return storage.ErrNotFound
	}
	return s.remove(ctx, `DELETE FROM games WHERE name = $1`, name)
}

// Games is described in [storage.Games].
func (s *Store) Games(ctx context.Context) iter.Seq2[storage.Game, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Game) ([]item[storage.Game], error) {
		after := "" // no game has an empty name
		if last != nil {
			after = last.Name
		}
		rows, err := q.Query(ctx, `SELECT name, rev, doc FROM games WHERE name > $1 ORDER BY name LIMIT $2`, after, pageRecords)
		return collect(rows, err, scanGame)
	})
}
