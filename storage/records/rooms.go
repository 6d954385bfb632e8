package records

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// rooms are the group rooms.
var rooms = kind[storage.Room]{
	table: tableRooms,
	key:   func(r *storage.Room) []byte { return idKey(r.ID) },
	rev:   func(r *storage.Room) *storage.Rev { return &r.Rev },
	index: storage.IndexRoomID,
}

// markRoom is the key in tableMarks of the id of a room that was given out last.
const markRoom = "room"

// gamePrefix is the prefix of the index keys of all rooms of a game. Names have
// no control characters, so NUL ends one.
func gamePrefix(game string) []byte { return append([]byte(game), 0) }

// roomIndexKey is the key of a room in tableRoomsByGame.
func roomIndexKey(game string, id uint32) []byte { return append(gamePrefix(game), idKey(id)...) }

// PutRoom is described in [storage.Rooms].
func (s *Store) PutRoom(ctx context.Context, r storage.Room) (stored storage.Room, err error) {
	if err := r.Check(); err != nil {
		return storage.Room{}, err
	}
	ctx, made := withMade(ctx)
	err = s.change(ctx, func(c *change) (err error) {
		stored, err = c.putRoom(r)
		*made = stored.ID
		return err
	})
	if err != nil {
		return storage.Room{}, fmt.Errorf("room %d %q: %w", r.ID, r.Name, err)
	}
	return stored, nil
}

// putRoom stores a room and moves its index entry.
func (c *change) putRoom(r storage.Room) (storage.Room, error) {
	if r.ID == 0 {
		r.ID = c.freeRoomID()
	}
	old, next, err := rooms.revise(c, r)
	if err != nil {
		return r, err
	}
	if old.ID != 0 && old.Game != next.Game {
		c.delete(tableRoomsByGame, roomIndexKey(old.Game, old.ID))
	}
	c.putEntry(tableRoomsByGame, roomIndexKey(next.Game, next.ID), nil)
	return next, nil
}

// freeRoomID assigns the id after the last one that it assigned, skipping those
// that operators chose. So the id of a deleted room is not soon reused.
func (c *change) freeRoomID() uint32 {
	id := uint32(storage.FirstFreeRoomID - 1)
	if last := c.entry(tableMarks, []byte(markRoom), 4); last != nil {
		id = max(id, binary.BigEndian.Uint32(last))
	}
	for {
		if id++; id > storage.MaxRoomID {
			id = storage.FirstFreeRoomID
		}
		if !c.has(tableRooms, idKey(id)) {
			c.putEntry(tableMarks, []byte(markRoom), idKey(id))
			return id
		}
	}
}

// GetRoom is described in [storage.Rooms].
func (s *Store) GetRoom(ctx context.Context, id uint32) (storage.Room, error) {
	return rooms.get(ctx, s, idKey(id))
}

// DeleteRoom is described in [storage.Rooms].
func (s *Store) DeleteRoom(ctx context.Context, id uint32) error {
	return s.change(ctx, func(c *change) error {
		r, err := get[storage.Room](c.view, tableRooms, idKey(id))
		if err != nil {
			return err
		}
		c.delete(tableRoomsByGame, roomIndexKey(r.Game, id))
		c.delete(tableRooms, idKey(id))
		return nil
	})
}

// Rooms is described in [storage.Rooms].
func (s *Store) Rooms(ctx context.Context, game string) iter.Seq2[storage.Room, error] {
	if game == "" {
		return rooms.all(ctx, s)
	}
	return follow(ctx, s, engine.Prefix(tableRoomsByGame, gamePrefix(game)), tableRooms, lastID, readRecord[storage.Room])
}
