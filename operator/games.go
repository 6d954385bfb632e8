package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// GameList is a list of games, which requests and answers have as YAML.
type GameList []games.Game

func (*GameList) contentType() string { return "application/yaml" }

func (l *GameList) encode() []byte { return games.AppendYAML(nil, *l) }

func (l *GameList) decode(doc []byte) (err error) {
	*l, err = games.ParseYAML(bytes.NewReader(doc), games.Source{Origin: games.FromStore})
	return err
}

// GameRef names a game.
type GameRef struct {
	Game string `path:"name" arg:"NAME"`
}

// ListGames returns the catalogue with everything in force.
var ListGames = New(Operation{Name: "game list", Route: "GET /games", What: "Show all games"},
	func(_ context.Context, l *Local, _ None) (GameList, error) { return l.Catalogue.Catalog().All(), nil })

// PutGames stores the operator's own records, each in place of an earlier one of the same game.
// Nothing is stored unless the catalogue accepts all of them.
var PutGames = New(Operation{Name: "game add", Route: "PUT /games", What: "Add a game, or change a built-in one", Action: "game.put"},
	func(ctx context.Context, l *Local, list GameList) (Stored, error) {
		return storeGames(ctx, l, list, "")
	})

// Stored is how many records were stored.
type Stored struct {
	Stored int `json:"stored"`
}

// storeGames is putGames with a detail for the audit log.
func storeGames(ctx context.Context, l *Local, list []games.Game, detail string) (Stored, error) {
	if err := l.Catalogue.try(ctx, list); err != nil {
		return Stored{}, err
	}
	if err := l.Catalogue.put(ctx, list, detail); err != nil {
		return Stored{}, err
	}
	return Stored{len(list)}, l.Catalogue.Reload(ctx)
}

// GetGame returns the operator's own record of a game, alone. storage.ErrNotFound: there is none.
var GetGame = New(Operation{Name: "game own", Route: "GET /games/{name}", What: "Show your record of a game"},
	func(ctx context.Context, l *Local, in GameRef) (GameList, error) {
		g, err := ownGame(ctx, l, in.Game)
		return GameList{g}, err
	})

func ownGame(ctx context.Context, l *Local, name string) (games.Game, error) {
	record, err := l.Store.GetGame(ctx, name)
	if err != nil {
		return games.Game{}, fmt.Errorf("game %s: %w", name, err)
	}
	list, err := games.ParseYAML(bytes.NewReader(record.Doc), games.Source{Origin: games.FromStore})
	if err == nil && len(list) != 1 {
		err = storage.ErrDamaged
	}
	if err != nil {
		return games.Game{}, fmt.Errorf("game %s in the store: %w", name, err)
	}
	return list[0], nil
}

// DeleteGame removes the operator's own record; a built-in one stays.
var DeleteGame = New(Operation{Name: "game remove", Route: "DELETE /games/{name}", What: "Remove your record of a game; a built-in game returns to its defaults"},
	func(ctx context.Context, l *Local, in GameRef) (Removed, error) {
		name := strings.ToLower(in.Game)
		if err := l.Store.DeleteGame(about(ctx, name, ""), name); err != nil {
			return Removed{}, fmt.Errorf("game %s: %w", name, err)
		}
		return Removed{1}, l.Catalogue.Reload(ctx)
	})

// Maintenance is whether a game answers "down for now".
type Maintenance struct {
	Game string `json:"-" path:"name"`
	On   bool   `json:"on"`
}

// Switch is whether something is on.
type Switch struct {
	On bool `json:"on"`
}

// SetMaintenance makes a game answer "down for now", or available again. The rest of the
// operator's record does not change.
var SetMaintenance = New(Operation{Name: "game maintenance", Route: "PUT /games/{name}/maintenance", What: "Make a game answer \"down for now\" or not"},
	func(ctx context.Context, l *Local, in Maintenance) (Switch, error) {
		known, ok := l.Catalogue.Catalog().Lookup(in.Game)
		if !ok {
			return Switch{}, fmt.Errorf("game %.64q: %w", in.Game, storage.ErrNotFound)
		}
		g, err := ownGame(ctx, l, known.Name)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			g = games.Game{Name: known.Name}
		case err != nil:
			return Switch{}, err
		}
		g.Maintenance = in.On
		g.Given |= games.FieldsOf("maintenance")
		state := "off"
		if in.On {
			state = "on"
		}
		_, err = storeGames(ctx, l, []games.Game{g}, state)
		return Switch{in.On}, err
	})
