package records

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// games are the operator's descriptions of games.
var games = kind[storage.Game]{
	table: tableGames,
	key:   func(g *storage.Game) []byte { return []byte(g.Name) },
}

// SetGames is described in [storage.Games].
func (s *Store) SetGames(ctx context.Context, list []storage.Game) error {
	if err := storage.CheckGames(list); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		loadEach(c, tableGames, list, func(g storage.Game) []byte { return []byte(g.Name) })
		for _, g := range list {
			if err := c.setGame(g); err != nil {
				return wrapped(err, "game %q", g.Name)
			}
		}
		return nil
	})
}

// setGame stores a game with a new revision. A damaged one cannot be replaced, only deleted.
func (c *change) setGame(g storage.Game) error {
	if _, err := get[storage.Game](c.view, tableGames, []byte(g.Name)); err != nil && !isMissing(err) {
		return err
	}
	g.Rev, g.Changed = storage.Rev(c.next(tableGames)), g.Changed.UTC()
	c.put(tableGames, []byte(g.Name), g)
	return nil
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

// rooms are the group rooms.
var rooms = kind[storage.Room]{
	table: tableRooms,
	key:   func(r *storage.Room) []byte { return idKey(r.ID) },
}

// markRoom is the key in tableMarks of the id of a room that was given out last.
const markRoom = "room"

// gamePrefix is the prefix of the index keys of all rooms of a game. Names have
// no control characters, so NUL ends one.
func gamePrefix(game string) []byte { return append([]byte(game), 0) }

// roomIndexKey is the key of a room in tableRoomsByGame.
func roomIndexKey(game string, id uint32) []byte { return append(gamePrefix(game), idKey(id)...) }

// PutRoom is described in [storage.Rooms].
func (s *Store) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	if err := r.Check(); err != nil {
		return storage.Room{}, err
	}
	ctx, made := withMade(ctx)
	stored, err := perform(ctx, s, func(c *change) (storage.Room, error) {
		stored, err := c.putRoom(r)
		*made = stored.ID
		return stored, err
	})
	return stored, wrapped(err, "room %d %q", r.ID, r.Name)
}

// putRoom stores a room, if its revision is current, and moves its index entry. A damaged
// room cannot be replaced, only deleted.
func (c *change) putRoom(r storage.Room) (storage.Room, error) {
	if r.ID == 0 {
		r.ID = c.freeRoomID()
	}
	key := idKey(r.ID)
	old, err := get[storage.Room](c.view, tableRooms, key)
	switch missing := isMissing(err); {
	case err != nil && !missing:
		return r, err
	case r.Rev == 0 && !missing:
		return r, &storage.TakenError{Index: storage.IndexRoomID}
	case r.Rev != 0 && missing:
		return r, storage.ErrNotFound
	case r.Rev != 0 && r.Rev != old.Rev:
		return r, storage.ErrConflict
	case !missing && old.Game != r.Game:
		c.delete(tableRoomsByGame, roomIndexKey(old.Game, r.ID))
	}
	r.Rev = storage.Rev(c.next(tableRooms))
	c.put(tableRooms, key, r)
	c.putEntry(tableRoomsByGame, roomIndexKey(r.Game, r.ID), nil)
	return get[storage.Room](c.view, tableRooms, key) // it shares no memory with r
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
		r := want[storage.Room](c.view, tableRooms, idKey(id))
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
