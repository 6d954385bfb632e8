package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/master/rooms"
	"github.com/respawnd/respawnd/storage"
)

// GameQuery selects what is of a game; empty: of any.
type GameQuery struct {
	Game string `query:"game" arg:"[GAME]"`
}

// ListRooms returns the group rooms that were added.
var ListRooms = New(Operation{Name: "game room list", Route: "GET /rooms", What: "Show the group rooms that were added", About: noun.Rooms},
	func(ctx context.Context, l *Local, in GameQuery) ([]storage.Room, error) {
		list, err := storage.Collect(l.Store.Rooms(ctx, in.Game))
		return append([]storage.Room{}, list...), err
	})

// NewRoom is a room to be stored: a storage.Room.
type NewRoom struct {
	ID         uint32          `json:"id" flag:"id" doc:"number of the room, unique over all games (default: a free one)"`
	Game       string          `json:"game" arg:"GAME"`
	Name       string          `json:"name" arg:"NAME"`
	MaxWaiting int             `json:"max_waiting,omitzero" flag:"max" default:"100" doc:"maximum number of players"`
	Fields     []storage.Field `json:"fields,omitempty"`
	Rev        storage.Rev     `json:"rev"` // of the room that it replaces; 0: it is another one
}

// PutRoom stores a room and returns it with its id. ErrBadRequest: the game is unknown or has
// rooms.MaxStored already, or the catalogue has the id.
var PutRoom = New(Operation{Name: "game room add", Route: "PUT /rooms", What: "Add a group room to a game", Action: "room.put", About: noun.Rooms},
	func(ctx context.Context, l *Local, in NewRoom) (storage.Room, error) {
		r := storage.Room(in)
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
		r, err := storeRoom(ctx, l, r)
		if err != nil {
			return r, err
		}
		return r, l.Catalogue.Reload(ctx)
	})

func hasRoom(list []games.Room, id uint32) bool {
	return slices.ContainsFunc(list, func(r games.Room) bool { return r.ID == id })
}

// storeRoom stores a room. The store assigns ids without knowledge of the
// catalogue, so an id that is taken there is skipped.
func storeRoom(ctx context.Context, l *Local, r storage.Room) (storage.Room, error) {
	for {
		stored, err := l.Store.PutRoom(aboutID(ctx, r.ID, r.Name, "of "+r.Game), r)
		if err != nil || r.ID != 0 {
			return stored, err
		}
		if _, _, taken := l.Catalogue.Catalog().Room(stored.ID); !taken {
			return stored, nil
		}
		ctx := notedID(ctx, "room.remove", stored.ID, stored.Name, "the number is taken by the catalogue")
		if err := l.Store.DeleteRoom(ctx, stored.ID); err != nil {
			return r, err
		}
	}
}

// RoomRef names a group room.
type RoomRef struct {
	ID uint32 `path:"id" arg:"ID" doc:"the number of a room, which respawnd game room list shows"`
}

// DeleteRoom removes a group room, and the rules of chat for it: another room may get its number.
var DeleteRoom = New(Operation{
	Name: "game room remove", Route: "DELETE /rooms/{id}", What: "Remove a group room that was added", Action: "room.remove", About: noun.Rooms,
}, func(ctx context.Context, l *Local, in RoomRef) (Removed, error) {
	r, err := l.Store.GetRoom(ctx, in.ID)
	if err != nil && !errors.Is(err, storage.ErrDamaged) { // a damaged room can still be removed
		return Removed{}, fmt.Errorf("room %d: %w", in.ID, err)
	}
	if err := l.Store.DeleteRoom(aboutID(ctx, in.ID, r.Name, "of "+r.Game), in.ID); err != nil {
		return Removed{}, fmt.Errorf("room %d: %w", in.ID, err)
	}
	return Removed{1}, errors.Join(removeRoomRules(ctx, l, in.ID), l.Catalogue.Reload(ctx))
})
