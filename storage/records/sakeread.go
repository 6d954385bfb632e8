package records

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// describeSake returns a table with its counts.
func describeSake(tx engine.Reader, t *sakeTable) (storage.SakeTable, error) {
	n, err := sakeCount(tx, sakeNumberKey(sakeTableCount, t.Number))
	return storage.SakeTable{SakeTableID: t.id(), Columns: t.Columns, Records: n.Records, Bytes: n.Bytes}, err
}

// GetSakeTable is described in [storage.Sake].
func (s *Store) GetSakeTable(ctx context.Context, table storage.SakeTableID) (out storage.SakeTable, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		t, err := getSakeTable(tx, table)
		if err == nil {
			out, err = describeSake(tx, &t)
		}
		return err
	})
	return out, err
}

// SakeTables is described in [storage.Sake].
func (s *Store) SakeTables(ctx context.Context, game string) iter.Seq2[storage.SakeTable, error] {
	r := whole(tableSakeTables)
	if game != "" {
		r = engine.Prefix(tableSakeTables, gamePrefix(game))
	}
	count := func(e engine.Entry) engine.Key {
		t, _ := readRecord[sakeTable](nil, e)
		return engine.Key{Table: tableSakeMeta, Key: sakeNumberKey(sakeTableCount, t.Number)}
	}
	return iterate(ctx, s, r, func(tx engine.Reader, e engine.Entry) (storage.SakeTable, error) {
		t, err := readRecord[sakeTable](tx, e)
		if err != nil {
			return storage.SakeTable{}, err
		}
		return describeSake(tx, &t)
	}, count)
}

// SakeRecords is described in [storage.Sake].
func (s *Store) SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) (all []storage.SakeRecord, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		all = nil
		t, err := getSakeTable(tx, table)
		if err != nil {
			return err
		}
		keys := make([][]byte, len(ids))
		for i, id := range ids {
			keys[i] = sakeRecordKey(t.Number, id)
		}
		if err := tx.Load(keysIn(tableSakeRecords, keys)...); err != nil {
			return err
		}
		for _, id := range ids {
			row, _, err := sakeRow(tx, t.Number, id)
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			var rec storage.SakeRecord
			if err == nil {
				rec, err = row.Record(t.Columns)
			}
			if err != nil {
				return err
			}
			all = append(all, rec)
		}
		return nil
	})
	return all, err
}

// ScanSake is described in [storage.Sake].
func (s *Store) ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error {
	visited := false
	return s.view(ctx, func(tx engine.Reader) error {
		if visited { // rows must not be visited twice
			return fmt.Errorf("%w: the search was interrupted", storage.ErrUnavailable)
		}
		t, err := getSakeTable(tx, table)
		if err != nil {
			return err
		}
		v := sakeScan{tx: tx, table: t.Number, rater: scan.Rater, visit: func(r *storage.SakeRow) bool {
			visited = true
			return visit(r)
		}}
		if len(scan.Owners) > 0 {
			return v.owners(scan.Owners)
		}
		return v.all(scan.First)
	})
}

// sakeScan visits records of a table, a page of them at a time.
type sakeScan struct {
	tx    engine.Reader
	table uint32
	rater storage.ProfileID
	visit func(*storage.SakeRow) bool
	row   storage.SakeRow
}

// all visits all records from one on.
func (v *sakeScan) all(from uint32) error {
	r := engine.Prefix(tableSakeRecords, sakeRecordKey(v.table, 0)[:4])
	r.From = sakeRecordKey(v.table, from)
	r.Loose = true // an engine need not remember all rows to compare them later
	if v.rater == 0 {
		return v.rows(r)
	}
	for {
		entries, more, err := pageOf(v.tx, r)
		if err != nil || len(entries) == 0 {
			return err
		}
		if again, err := v.page(entries); err != nil || !again || !more {
			return err
		}
		r = following(r, entries[len(entries)-1].Key, len(entries))
	}
}

// rows visits the records of a range, of which no rating is wanted.
func (v *sakeScan) rows(r engine.Range) error {
	for e, err := range v.tx.Scan(r) {
		if err != nil {
			return err
		}
		if openSakeRow(e.Key, e.Value, &v.row) == nil && !v.visit(&v.row) {
			return nil
		}
	}
	return nil
}

// owners visits the records of some owners.
func (v *sakeScan) owners(owners []storage.ProfileID) error {
	var keys [][]byte
	for _, owner := range owners {
		index, err := keysOf(v.tx, engine.Prefix(tableSakeByOwner, sakeByOwnerKey(owner, v.table, 0)[:8]))
		if err != nil {
			return err
		}
		for _, key := range index {
			keys = append(keys, key[4:])
		}
	}
	for part := range slices.Chunk(keys, pageRecords) {
		entries, err := v.load(part)
		if err != nil {
			return err
		}
		if again, err := v.page(entries); err != nil || !again {
			return err
		}
	}
	return nil
}

// load returns the records under keys.
func (v *sakeScan) load(keys [][]byte) (entries []engine.Entry, err error) {
	if err := v.tx.Load(keysIn(tableSakeRecords, keys)...); err != nil {
		return nil, err
	}
	for _, key := range keys {
		value, err := v.tx.Get(tableSakeRecords, key)
		if err != nil {
			return nil, err
		}
		entries = append(entries, engine.Entry{Key: key, Value: value})
	}
	return entries, nil
}

// page visits records, those that are damaged or missing excepted, and reports whether to continue.
func (v *sakeScan) page(entries []engine.Entry) (again bool, err error) {
	if err := v.loadRatings(entries); err != nil {
		return false, err
	}
	for _, e := range entries {
		if openSakeRow(e.Key, e.Value, &v.row) != nil {
			continue
		}
		if v.rater != 0 && v.row.Ratings > 0 {
			v.row.MyRating, err = sakeRating(v.tx, v.table, v.row.ID, v.rater)
			if err != nil && !isDamage(err) {
				return false, err
			}
		}
		if !v.visit(&v.row) {
			return false, nil
		}
	}
	return true, nil
}

// loadRatings loads what the rater of the scan gave to records.
func (v *sakeScan) loadRatings(entries []engine.Entry) error {
	if v.rater == 0 {
		return nil
	}
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		keys[i] = slices.Concat(e.Key, idKey(v.rater))
	}
	return v.tx.Load(keysIn(tableSakeRatings, keys)...)
}

// sakeRating returns the rating of a profile for a record, -1 if there is none.
func sakeRating(tx engine.Reader, table, id uint32, rater storage.ProfileID) (int, error) {
	content, err := getEntry(tx, tableSakeRatings, sakeRatingKey(table, id, rater), 1)
	if err != nil || content == nil {
		return -1, err
	}
	return int(content[0]), nil
}

// SakeRatings is described in [storage.Sake].
func (s *Store) SakeRatings(ctx context.Context, table storage.SakeTableID, rater storage.ProfileID, ids []uint32) (ratings []int, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		ratings = nil
		t, err := getSakeTable(tx, table)
		if err != nil {
			return err
		}
		keys := make([][]byte, len(ids))
		for i, id := range ids {
			keys[i] = sakeRatingKey(t.Number, id, rater)
		}
		if err := tx.Load(keysIn(tableSakeRatings, keys)...); err != nil {
			return err
		}
		for _, id := range ids {
			rating, err := sakeRating(tx, t.Number, id, rater)
			if err != nil {
				return err
			}
			ratings = append(ratings, rating)
		}
		return nil
	})
	return ratings, err
}

// SakeOwned is described in [storage.Sake].
func (s *Store) SakeOwned(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID) (n storage.SakeCount, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		t, err := getSakeTable(tx, table)
		if err == nil {
			n, err = sakeCount(tx, sakeOwnedKey(owner, t.Number))
		}
		return err
	})
	return n, err
}

// SakeOf is described in [storage.Sake].
func (s *Store) SakeOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.OwnedSakeRecord, error] {
	record := func(e engine.Entry) engine.Key { return engine.Key{Table: tableSakeRecords, Key: e.Key[4:]} }
	table := func(e engine.Entry) engine.Key {
		return engine.Key{Table: tableSakeMeta, Key: sakeNumberKey(sakeTableKey, binary.BigEndian.Uint32(e.Key[4:]))}
	}
	return iterate(ctx, s, engine.Prefix(tableSakeByOwner, idKey(owner)), readOwnedSake, record, table)
}

// readOwnedSake is the decoder of tableSakeByOwner.
func readOwnedSake(tx engine.Reader, e engine.Entry) (out storage.OwnedSakeRecord, err error) {
	number, id := binary.BigEndian.Uint32(e.Key[4:]), binary.BigEndian.Uint32(e.Key[8:])
	t, err := sakeTableOf(tx, number)
	var row storage.SakeRow
	if err == nil {
		row, _, err = sakeRow(tx, number, id)
	}
	switch {
	case isMissing(err):
		return out, fmt.Errorf("%w: the index has a record that is missing", storage.ErrDamaged)
	case err != nil:
		return out, err
	}
	out.SakeTableID = t.id()
	out.SakeRecord, err = row.Record(t.Columns)
	return out, err
}

// CountSake is described in [storage.Sake].
func (s *Store) CountSake(ctx context.Context) (n storage.SakeCount, err error) {
	err = s.view(ctx, func(tx engine.Reader) error {
		n, err = countAllSake(tx)
		return err
	})
	return n, err
}
