package storage

import (
	"cmp"
	"context"
	"iter"
	"math"
)

// IndexRoomID is the index of room ids in a TakenError.
const IndexRoomID = "room.id"

// Limits of a Room.
const (
	FirstFreeRoomID = 100_000       // FirstFreeRoomID is the lowest id that a store assigns: built-in rooms have lower ones.
	MaxRoomID       = math.MaxInt32 // MaxRoomID is the highest id: clients read it as a signed number.
	MaxRoomName     = 128           // MaxRoomName is the longest name in bytes.
	MaxRoomFields   = 64            // MaxRoomFields is the highest number of fields.
	MaxFieldName    = 64            // MaxFieldName is the longest field name in bytes.
	MaxFieldValue   = 1024          // MaxFieldValue is the longest field value in bytes.
)

// Field is a named value of a Room.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value,omitzero"`
}

// Room is a group room: a lobby of a game.
type Room struct {
	ID         uint32  `json:"id"` // unique over all games, never 0 once stored
	Game       string  `json:"game"`
	Name       string  `json:"name"`
	MaxWaiting int     `json:"max_waiting,omitzero"` // highest number of waiting players
	Fields     []Field `json:"fields,omitempty"`     // in the operator's order
	Rev        Rev     `json:"rev"`
}

// Check returns an error, which matches ErrInvalid, if r exceeds a limit.
func (r *Room) Check() error {
	switch {
	case r.ID > MaxRoomID:
		return invalid("room id is over %d", MaxRoomID)
	case r.ID == 0 && r.Rev != 0:
		return invalid("room has a revision but no id")
	case r.MaxWaiting < 0 || r.MaxWaiting > math.MaxInt32:
		return invalid("room max_waiting is outside 0 to %d", math.MaxInt32)
	case len(r.Fields) > MaxRoomFields:
		return invalid("room has more than %d fields", MaxRoomFields)
	}
	for _, f := range r.Fields {
		if err := cmp.Or(checkName("room field name", f.Name, MaxFieldName), checkText("room field value", f.Value, MaxFieldValue)); err != nil {
			return err
		}
	}
	return cmp.Or(checkName("room game", r.Game, MaxGameName), checkName("room name", r.Name, MaxRoomName))
}

// Rooms keeps the group rooms, unique by id over all games.
type Rooms interface {
	// PutRoom stores r and returns it with its id and its new Rev. With Rev 0
	// it creates the room: ID 0 is replaced by a free one; the error is
	// ErrTaken for any other that exists. Otherwise it updates the room; the
	// error is ErrConflict if r.Rev is not current, ErrNotFound if there is no
	// such room. The game of a room may change.
	PutRoom(ctx context.Context, r Room) (Room, error)

	// GetRoom returns the room or ErrNotFound.
	GetRoom(ctx context.Context, id uint32) (Room, error)

	// DeleteRoom removes the room or returns ErrNotFound.
	DeleteRoom(ctx context.Context, id uint32) error

	// Rooms yields the rooms of a game in the order of their ids, or all rooms
	// if game is empty.
	Rooms(ctx context.Context, game string) iter.Seq2[Room, error]
}
