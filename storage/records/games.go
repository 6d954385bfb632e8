package records

import (
	"context"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// games are the operator's descriptions of games.
var games = kind[storage.Game]{
	table: tableGames,
	key:   func(g *storage.Game) []byte { return []byte(g.Name) },
	rev:   func(g *storage.Game) *storage.Rev { return &g.Rev },
	index: storage.IndexGameName,
}

// PutGame is described in [storage.Games].
func (s *Store) PutGame(ctx context.Context, g storage.Game) (stored storage.Game, err error) {
	if err := g.Check(); err != nil {
		return storage.Game{}, err
	}
	g.Changed = g.Changed.UTC()
	err = s.change(ctx, func(c *change) (err error) {
		_, stored, err = games.revise(c, g)
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
	names := make([][]byte, len(list))
	for i, g := range list {
		names[i] = []byte(g.Name)
	}
	return s.change(ctx, func(c *change) error {
		c.load(keysIn(tableGames, names)...)
		for _, g := range list {
			if err := c.setGame(g); err != nil {
				return fmt.Errorf("game %q: %w", g.Name, err)
			}
		}
		return nil
	})
}

// setGame stores a game whatever its revision.
func (c *change) setGame(g storage.Game) error {
	old, err := get[storage.Game](c.view, tableGames, []byte(g.Name))
	if err != nil && !isMissing(err) {
		return err
	}
	g.Rev, g.Changed = old.Rev, g.Changed.UTC()
	_, _, err = games.revise(c, g)
	return err
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
