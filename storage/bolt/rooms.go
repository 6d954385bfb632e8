package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// roomKey is the key of a room.
func roomKey(id uint32) []byte { return binary.BigEndian.AppendUint32(nil, id) }

// gamePrefix is the prefix of the index keys of all rooms of a game. Names have
// no control characters, so NUL ends one.
func gamePrefix(game string) []byte { return append([]byte(game), 0) }

// roomIndexKey is the key of a room in bucketRoomsByGame.
func roomIndexKey(game string, id uint32) []byte { return append(gamePrefix(game), roomKey(id)...) }

// PutRoom is described in [storage.Rooms].
func (s *Store) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	if err := r.Check(); err != nil {
		return storage.Room{}, err
	}
	var stored storage.Room
	ctx, made := withMade(ctx)
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		next := r
		if next.ID == 0 {
			id, err := freeRoomID(tx)
			if err != nil {
				return err
			}
			next.ID = id
		}
		*made = next.ID
		old, err := get[storage.Room](tx, bucketRooms, roomKey(next.ID))
		if next.Rev, err = nextRev(tx, bucketRooms, storage.IndexRoomID, r.Rev, old.Rev, err); err != nil {
			return err
		}
		if err := putRoom(tx, old, next); err != nil {
			return err
		}
		stored, err = get[storage.Room](tx, bucketRooms, roomKey(next.ID))
		return err
	})
	if err != nil {
		return storage.Room{}, fmt.Errorf("room %d %q: %w", r.ID, r.Name, err)
	}
	return stored, nil
}

// putRoom stores next and moves its index entry; old is the zero Room if there
// was none.
func putRoom(tx *bbolt.Tx, old, next storage.Room) error {
	byGame := tx.Bucket([]byte(bucketRoomsByGame))
	if old.ID != 0 && old.Game != next.Game {
		if err := byGame.Delete(roomIndexKey(old.Game, old.ID)); err != nil {
			return err
		}
	}
	indexKey := roomIndexKey(next.Game, next.ID)
	if err := byGame.Put(indexKey, sealEntry(indexKey, nil)); err != nil {
		return err
	}
	return put(tx, bucketRooms, roomKey(next.ID), next)
}

// freeRoomID assigns the id after the last one that it assigned, skipping those
// that operators chose. So the id of a deleted room is not soon reused.
func freeRoomID(tx *bbolt.Tx) (uint32, error) {
	meta, rooms := tx.Bucket([]byte(bucketMeta)), tx.Bucket([]byte(bucketRooms))
	last, err := metaNumber(tx, metaRoom, 4)
	if err != nil {
		return 0, err
	}
	for id := max(uint32(last), storage.FirstFreeRoomID-1); ; {
		if id++; id > storage.MaxRoomID {
			id = storage.FirstFreeRoomID
		}
		if rooms.Get(roomKey(id)) == nil {
			return id, meta.Put([]byte(metaRoom), sealEntry([]byte(metaRoom), roomKey(id)))
		}
	}
}

// GetRoom is described in [storage.Rooms].
func (s *Store) GetRoom(ctx context.Context, id uint32) (storage.Room, error) {
	return fetch[storage.Room](ctx, s, bucketRooms, roomKey(id))
}

// DeleteRoom is described in [storage.Rooms].
func (s *Store) DeleteRoom(ctx context.Context, id uint32) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		r, err := get[storage.Room](tx, bucketRooms, roomKey(id))
		if err != nil {
			return err
		}
		if _, err := remove(tx, bucketRoomsByGame, roomIndexKey(r.Game, id)); err != nil {
			return err
		}
		_, err = remove(tx, bucketRooms, roomKey(id))
		return err
	})
}

// Rooms is described in [storage.Rooms].
func (s *Store) Rooms(ctx context.Context, game string) iter.Seq2[storage.Room, error] {
	if game == "" {
		return iterate(ctx, s, bucketRooms, []byte{}, readRecord[storage.Room])
	}
	return iterate(ctx, s, bucketRoomsByGame, gamePrefix(game), readByID[storage.Room](bucketRooms))
}
