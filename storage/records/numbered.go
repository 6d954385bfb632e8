package records

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// numbered is a kind of record whose ids the store gives out. No id is given out twice:
// the numbers of the table ids are the ids.
type numbered[R any, ID ~uint32] struct{ table, ids engine.Table }

// files are the files of players.
var files = numbered[storage.File, storage.FileID]{tableFiles, tableFileIDs}

// idKey is the key of a record with an id, and the content of an entry of an index.
func idKey[ID ~uint32](id ID) []byte { return binary.BigEndian.AppendUint32(nil, uint32(id)) }

// numberKey is the key of a number: of a match, a report, an entry of the audit log, a run.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// key names the record with an id, to load it.
func (n numbered[R, ID]) key(id ID) engine.Key { return engine.Key{Table: n.table, Key: idKey(id)} }

// newID returns an id that no record has.
func (n numbered[R, ID]) newID(c *change) (ID, error) {
	for {
		id := c.next(n.ids)
		if id > storage.MaxAccountID { // clients read ids as numbers of 32 bits with a sign
			return 0, fmt.Errorf("ids of %s: %w", n.table, storage.ErrFull)
		}
		key := idKey(ID(id))
		if c.vacant(n.table, key); !c.has(n.table, key) { // an import at the same time may have taken it
			return ID(id), nil
		}
	}
}

// number stands for the number of the id for a new record, to load it, unless the wanted one
// is not 0.
func (n numbered[R, ID]) number(wanted ID) (keys []engine.Key) {
	if wanted == 0 {
		keys = []engine.Key{{Table: n.ids}}
	}
	return keys
}

// takeID returns the id for a new record: the wanted one, or a new one if that is 0.
func (n numbered[R, ID]) takeID(c *change, wanted ID) (ID, error) {
	if wanted == 0 {
		return n.newID(c)
	}
	c.raise(n.ids, uint64(wanted))
	return wanted, nil
}

// checkID returns an error that names index if a record has the id, unless that is 0.
func (n numbered[R, ID]) checkID(v *view, id ID, index string) error {
	if id != 0 && v.has(n.table, idKey(id)) {
		return &storage.TakenError{Index: index}
	}
	return nil
}

// get returns the record with an id. The error is ErrDeleted if there was one, and
// ErrNotFound if there never was.
func (n numbered[R, ID]) get(v *view, id ID) (record R, err error) {
	err = n.getInto(v, id, &record)
	return record, err
}

// want is get of a record without which the step fails.
func (n numbered[R, ID]) want(v *view, id ID) R {
	record, err := n.get(v, id)
	v.failed(err)
	return record
}

// getInto is get with decodeInto.
func (n numbered[R, ID]) getInto(v *view, id ID, record *R) error {
	err := getInto(v, n.table, idKey(id), record)
	if id == 0 || !isMissing(err) {
		return err
	}
	last, failure := v.Last(n.ids)
	if !v.failed(failure) && uint64(id) <= last {
		return storage.ErrDeleted
	}
	return err
}

// fetch is get in a step of its own.
func (n numbered[R, ID]) fetch(ctx context.Context, s *Store, id ID) (record R, err error) {
	err = s.view(ctx, func(v *view) error { return n.getInto(v, id, &record) })
	return record, err
}

// fetchBy returns the record whose id an index has under a key, or ErrNotFound.
func (n numbered[R, ID]) fetchBy(ctx context.Context, s *Store, index engine.Table, key []byte) (record R, err error) {
	err = s.view(ctx, func(v *view) error {
		return n.follow(v, engine.Key{Table: index, Key: key, Then: [2]engine.Table{n.table}}, &record)
	})
	return record, err
}

// follow reads the record whose id an index has under a key, or returns ErrNotFound.
func (n numbered[R, ID]) follow(v *view, k engine.Key, record *R) error {
	*record = *new(R)
	if possible(k.Key) {
		v.load(k)
	}
	id, err := lookup[ID](v, k.Table, k.Key)
	if err != nil {
		return err
	}
	return n.getInto(v, id, record)
}

// lookup returns the id in an index under a key, or ErrNotFound.
func lookup[ID ~uint32](v *view, index engine.Table, key []byte) (ID, error) {
	content, err := v.wanted(index, key, 4)
	if err != nil {
		return 0, err
	}
	return ID(binary.BigEndian.Uint32(content)), nil
}

// rangeAfter is the range of the records with higher ids than one.
func (n numbered[R, ID]) rangeAfter(id ID) engine.Range {
	return engine.Range{Table: n.table, From: append(idKey(id), 0)}
}
