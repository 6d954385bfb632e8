package records

import (
	"context"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// games are the operator's descriptions of games.
var games = kind[storage.Game]{
	table: tableGames,
	key:   func(g *storage.Game) []byte { return []byte(g.Name) },
}

// SetGames is described in [storage.Games].
func (s *Store) SetGames(ctx context.Context, list []storage.Game) error {
	if err := storage.CheckGames(list); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		loadEach(c, tableGames, list, func(g storage.Game) []byte { return []byte(g.Name) })
		for _, g := range list {
			if err := c.setGame(g); err != nil {
				return wrapped(err, "game %q", g.Name)
			}
		}
		return nil
	})
}

// setGame stores a game with a new revision. A damaged one cannot be replaced, only deleted.
func (c *change) setGame(g storage.Game) error {
	if _, err := get[storage.Game](c.view, tableGames, []byte(g.Name)); err != nil && !isMissing(err) {
		return err
	}
	g.Rev, g.Changed = storage.Rev(c.next(tableGames)), g.Changed.UTC()
	c.put(tableGames, []byte(g.Name), g)
	return nil
}

// GetGame is described in [storage.Games].
func (s *Store) GetGame(ctx context.Context, name string) (storage.Game, error) {
	return games.get(ctx, s, []byte(name))
}

// DeleteGame is described in [storage.Games].
func (s *Store) DeleteGame(ctx context.Context, name string) error {
	return games.remove(ctx, s, []byte(name))
}

// Games is described in [storage.Games].
func (s *Store) Games(ctx context.Context) iter.Seq2[storage.Game, error] { return games.all(ctx, s) }
