package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

var errUnknownGame = errors.New("not in the catalogue; `respawnd game list` lists the games")

// FindGame returns the game that words mean: of the built-in list, of games.file, or of the
// operator's own records. The store is opened only for the last ones, and never created.
func (con *Console) FindGame(ctx context.Context, cfg *services.Config, words string) (games.Game, error) {
	catalogue, err := operator.ReadGames(cfg.Games.File)
	if err != nil {
		return games.Game{}, err
	}
	list := catalogue.All()
	if _, known := catalogue.Lookup(strings.TrimPrefix(words, "=")); !known {
		err = con.WithStore(ctx, cfg, func(c operator.Conn) (err error) {
			list, err = operator.ListGames.Call(ctx, c, operator.None{})
			return err
		})
	}
	if err != nil {
		return games.Game{}, fmt.Errorf("%s is not a built-in game, and your own cannot be read: %w", Printable(words), err)
	}
	return con.PickGame(list, words, games.Find)
}

// PickGame returns the game of a list which words mean, as find says: games.Find for players. On
// standard error it says which game that is unless the words are its name, and which others they
// may mean.
func (con *Console) PickGame(list []games.Game, words string, find func([]games.Game, string) (games.Guess, bool)) (games.Game, error) {
	if c, err := games.NewCatalog(list); err == nil {
		list = c.All() // with what follows from all records together
	}
	found, ok := find(list, words)
	if !ok {
		return games.Game{}, unknownGame(found, words)
	}
	if !found.Exact || len(found.Others) > 0 {
		_, _ = fmt.Fprintln(con.Err, Printable(found.String()))
	}
	return found.Game, nil
}

// WithStore runs f on the running daemon or on the store, which it never creates: without one it does nothing.
func (con *Console) WithStore(ctx context.Context, cfg *services.Config, f func(operator.Conn) error) error {
	if missing(daemon.StorePath(cfg)) {
		return nil
	}
	c, closeStore, err := con.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(c), closeStore())
}

// unknownGame returns the error that no game is called so, with those that may be meant.
func unknownGame(g games.Guess, words string) error {
	near := make([]string, len(g.Others))
	for i, o := range g.Others {
		near[i] = Printable(fmt.Sprintf("%s (%s)", o.Name, o.Title))
	}
	if len(near) == 0 {
		return fmt.Errorf("%s: %w", Printable(words), errUnknownGame)
	}
	return fmt.Errorf("%s: %w; did you mean %s?", Printable(words), errUnknownGame, strings.Join(near, ", "))
}
