package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

var errUnknownGame = errors.New("not in the catalogue; `respawnd game list` lists the games")

// FindGame returns a game of the built-in list, of games.file, or of the operator's
// own records. The store is opened only for the last ones, and never created.
func (con *Console) FindGame(ctx context.Context, cfg *services.Config, name string) (games.Game, error) {
	catalogue, err := operator.ReadGames(cfg.Games.File)
	if err != nil {
		return games.Game{}, err
	}
	if g, known := catalogue.Lookup(name); known {
		return g, nil
	}
	list := catalogue.All()
	err = con.WithStore(ctx, cfg, func(c operator.Conn) (err error) {
		list, err = operator.ListGames.Call(ctx, c, operator.None{})
		return err
	})
	if err != nil {
		return games.Game{}, fmt.Errorf("%s is not a built-in game, and your own cannot be read: %w", Printable(name), err)
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return strings.EqualFold(g.Name, name) })
	if i < 0 {
		return games.Game{}, UnknownGame(list, name)
	}
	return list[i], nil
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

// maxNearGames is how many games with similar names are suggested.
const maxNearGames = 5

// UnknownGame returns the error that there is no game of a name. It suggests games
// whose name is similar or whose title has the words.
func UnknownGame(list []games.Game, name string) error {
	near := nearGames(list, name)
	if len(near) == 0 {
		return fmt.Errorf("%s: %w", Printable(name), errUnknownGame)
	}
	return fmt.Errorf("%s: %w; did you mean %s?", Printable(name), errUnknownGame, strings.Join(near, ", "))
}

func nearGames(list []games.Game, name string) (near []string) {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	if n := configs.Nearest(name, names); n != "" {
		near = append(near, n)
	}
	word := storage.Fold(name)
	for i := range list {
		g := &list[i]
		if len(near) == maxNearGames {
			break
		}
		if word != "" && strings.Contains(storage.Fold(g.Title), word) && !slices.Contains(near, g.Name) {
			near = append(near, fmt.Sprintf("%s (%s)", g.Name, Printable(g.Title)))
		}
	}
	return near
}
