package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master/rooms"
	"github.com/respawnd/respawnd/storage"
)

// Rooms implements Operator.
func (l *Local) Rooms(ctx context.Context, game string) ([]storage.Room, error) {
	out := []storage.Room{}
	for r, err := range l.Store.Rooms(ctx, game) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// PutRoom implements Operator.
func (l *Local) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	g, ok := l.Catalogue.Catalog().Lookup(r.Game)
	if !ok {
		return r, fmt.Errorf("%w: unknown game %q", ErrBadRequest, r.Game)
	}
	r.Game = g.Name
	if other, of, taken := l.Catalogue.Catalog().Room(r.ID); r.ID != 0 && taken {
		return r, fmt.Errorf("%w: room %d is %q of %s in the catalogue", ErrBadRequest, r.ID, other.Name, of.Name)
	}
	if known := l.Catalogue.Rooms(g.Name); len(known) >= rooms.MaxStored && !hasRoom(known, r.ID) {
		return r, fmt.Errorf("%w: %s has %d rooms in the store, and no more are listed", ErrBadRequest, g.Name, len(known))
	}
	r, err := l.storeRoom(ctx, r)
	if err != nil {
		return r, err
	}
	return r, l.Catalogue.Reload(ctx)
}

func hasRoom(list []games.Room, id uint32) bool {
	return slices.ContainsFunc(list, func(r games.Room) bool { return r.ID == id })
}

// storeRoom stores a room. The store assigns ids without knowledge of the
// catalogue, so an id that is taken there is skipped.
func (l *Local) storeRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	for {
		stored, err := l.Store.PutRoom(notedID(ctx, actRoomPut, r.ID, r.Name, "of "+r.Game), r)
		if err != nil || r.ID != 0 {
			return stored, err
		}
		if _, _, taken := l.Catalogue.Catalog().Room(stored.ID); !taken {
			return stored, nil
		}
		ctx := notedID(ctx, actRoomRemove, stored.ID, stored.Name, "the number is taken by the catalogue")
		if err := l.Store.DeleteRoom(ctx, stored.ID); err != nil {
			return r, err
		}
	}
}

// DeleteRoom implements Operator. The rules of chat for the room are removed, too:
// another room may get its number.
func (l *Local) DeleteRoom(ctx context.Context, id uint32) error {
	r, err := l.Store.GetRoom(ctx, id)
	if err != nil && !errors.Is(err, storage.ErrDamaged) { // a damaged room can still be removed
		return fmt.Errorf("room %d: %w", id, err)
	}
	if err := l.Store.DeleteRoom(notedID(ctx, actRoomRemove, id, r.Name, "of "+r.Game), id); err != nil {
		return fmt.Errorf("room %d: %w", id, err)
	}
	return errors.Join(l.removeRoomRules(ctx, id), l.Catalogue.Reload(ctx))
}
