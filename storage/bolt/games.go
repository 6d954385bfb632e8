package bolt

import (
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// PutGame is described in [storage.Games].
func (s *Store) PutGame(ctx context.Context, g storage.Game) (storage.Game, error) {
	if err := g.Check(); err != nil {
		return storage.Game{}, err
	}
	var stored storage.Game
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		old, err := get[storage.Game](tx, bucketGames, []byte(g.Name))
		next := g
		next.Changed = next.Changed.UTC()
		if next.Rev, err = nextRev(tx, bucketGames, storage.IndexGameName, g.Rev, old.Rev, err); err != nil {
			return err
		}
		if err := put(tx, bucketGames, []byte(g.Name), next); err != nil {
			return err
		}
		stored, err = get[storage.Game](tx, bucketGames, []byte(g.Name))
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
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, g := range list {
			old, err := get[storage.Game](tx, bucketGames, []byte(g.Name))
			g.Changed = g.Changed.UTC()
			if g.Rev, err = nextRev(tx, bucketGames, storage.IndexGameName, old.Rev, old.Rev, err); err != nil {
				return fmt.Errorf("game %q: %w", g.Name, err)
			}
			if err := put(tx, bucketGames, []byte(g.Name), g); err != nil {
				return fmt.Errorf("game %q: %w", g.Name, err)
			}
		}
		return nil
	})
}

// GetGame is described in [storage.Games].
func (s *Store) GetGame(ctx context.Context, name string) (storage.Game, error) {
	return fetch[storage.Game](ctx, s, bucketGames, []byte(name))
}

// DeleteGame is described in [storage.Games].
func (s *Store) DeleteGame(ctx context.Context, name string) error {
	return s.removeKey(ctx, bucketGames, []byte(name))
}

// Games is described in [storage.Games].
func (s *Store) Games(ctx context.Context) iter.Seq2[storage.Game, error] {
	return iterate(ctx, s, bucketGames, []byte{}, readRecord[storage.Game])
}
