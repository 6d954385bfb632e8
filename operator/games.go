package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// ownGame returns the operator's own record of a game, storage.ErrNotFound if
// there is none.
func (l *Local) ownGame(ctx context.Context, name string) (games.Game, error) {
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

// OwnGame implements Operator.
func (l *Local) OwnGame(ctx context.Context, name string) (games.Game, error) {
	return l.ownGame(ctx, name)
}

// SetMaintenance implements Operator.
func (l *Local) SetMaintenance(ctx context.Context, name string, on bool) error {
	known, ok := l.Catalogue.Catalog().Lookup(name)
	if !ok {
		return fmt.Errorf("game %.64q: %w", name, storage.ErrNotFound)
	}
	g, err := l.ownGame(ctx, known.Name)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		g = games.Game{Name: known.Name}
	case err != nil:
		return err
	}
	g.Maintenance = on
	g.Given |= games.FieldsOf("maintenance")
	return l.putGames(ctx, []games.Game{g}, actGameMaintenance, onOff(on))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Games implements Operator.
func (l *Local) Games(context.Context) ([]games.Game, error) {
	return l.Catalogue.Catalog().All(), nil
}

// PutGames implements Operator. Nothing is stored unless the catalogue accepts
// all of the records.
func (l *Local) PutGames(ctx context.Context, list []games.Game) error {
	return l.putGames(ctx, list, actGamePut, "")
}

// putGames is PutGames under the name of an action.
func (l *Local) putGames(ctx context.Context, list []games.Game, action, detail string) error {
	if err := l.Catalogue.try(ctx, list); err != nil {
		return err
	}
	if err := l.Catalogue.put(ctx, list, action, detail); err != nil {
		return err
	}
	return l.Catalogue.Reload(ctx)
}

// DeleteGame implements Operator.
func (l *Local) DeleteGame(ctx context.Context, name string) error {
	if err := l.Store.DeleteGame(noted(ctx, actGameRemove, name, ""), name); err != nil {
		return fmt.Errorf("game %s: %w", name, err)
	}
	return l.Catalogue.Reload(ctx)
}
