package records

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// describeSake returns a table with its counts.
func describeSake(v *view, t *sakeTable) storage.SakeTable {
	n := v.sakeSum(sakeNumberKey(sakeTableCount, t.Number))
	return storage.SakeTable{SakeTableID: t.id(), Columns: t.Columns, Records: int(n.records), Bytes: n.bytes}
}

// GetSakeTable is described in [storage.Sake].
func (s *Store) GetSakeTable(ctx context.Context, table storage.SakeTableID) (storage.SakeTable, error) {
	return read(ctx, s, func(v *view) (out storage.SakeTable, err error) {
		t, err := getSakeTable(v, table)
		if err == nil {
			out = describeSake(v, &t)
		}
		return out, err
	})
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
	return iterate(ctx, s, r, func(v *view, e engine.Entry) (storage.SakeTable, error) {
		t, err := readRecord[sakeTable](v, e)
		if err != nil {
			return storage.SakeTable{}, err
		}
		return describeSake(v, &t), nil
	}, count)
}

// SakeRecords is described in [storage.Sake].
func (s *Store) SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) ([]storage.SakeRecord, error) {
	return read(ctx, s, func(v *view) (all []storage.SakeRecord, err error) {
		t, err := getSakeTable(v, table)
		if err != nil {
			return nil, err
		}
		loadEach(v, tableSakeRecords, ids, func(id uint32) []byte { return sakeRecordKey(t.Number, id) })
		for _, id := range ids {
			row, _, err := sakeRow(v, t.Number, id)
			if isMissing(err) {
				continue
			}
			var rec storage.SakeRecord
			if err == nil {
				rec, err = row.Record(t.Columns)
			}
			if err != nil {
				return all, err
			}
			all = append(all, rec)
		}
		return all, nil
	})
}

// ScanSake is described in [storage.Sake].
func (s *Store) ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error {
	scanned := sakeScan{rater: scan.Rater}
	var owned [][]byte
	err := s.view(ctx, func(v *view) error {
		t, err := getSakeTable(v, table)
		scanned.table = t.Number
		owned = scanned.owned(v, scan.Owners)
		return err
	})
	if err != nil {
		return err
	}
	rows := paged(ctx, s, engine.Range{
		Table: tableSakeRecords, From: sakeRecordKey(scanned.table, scan.First), To: engine.After(idKey(scanned.table)), Loose: true,
	}, scanned.page)
	if len(scan.Owners) > 0 {
		rows = paged(ctx, s, owned, scanned.ownedPage)
	}
	var row storage.SakeRow
	for r, err := range rows {
		if err != nil {
			return err
		}
		if openSakeRow(r.Key, r.Value, &row) != nil {
			continue
		}
		if row.MyRating = r.rating; !visit(&row) {
			break
		}
	}
	return nil
}

// sakeScan reads records of a table, a page of them in one step.
type sakeScan struct {
	table uint32
	rater storage.ProfileID
}

// A ratedRow is a copy of a record with the rating of the rater of a scan, -1 if there is none.
type ratedRow struct {
	engine.Entry
	rating int
}

// page reads the records on the first page of a range.
func (s *sakeScan) page(v *view, r engine.Range) (rows []item[ratedRow], rest engine.Range, more bool) {
	entries, rest, more := pageEntries(v, r)
	return s.rate(v, entries), rest, more
}

// owned returns the keys of the records of some owners.
func (s *sakeScan) owned(v *view, owners []storage.ProfileID) (keys [][]byte) {
	for _, owner := range owners {
		for _, key := range v.keys(engine.Prefix(tableSakeByOwner, sakeByOwnerKey(owner, s.table, 0)[:8])) {
			keys = append(keys, key[4:])
		}
	}
	return keys
}

// ownedPage reads the records under the first keys.
func (s *sakeScan) ownedPage(v *view, keys [][]byte) (rows []item[ratedRow], rest [][]byte, more bool) {
	part := keys[:min(len(keys), engine.Page)]
	entries := make([]engine.Entry, len(part))
	v.load(keysIn(tableSakeRecords, part)...)
	for i, key := range part {
		entries[i] = engine.Entry{Key: key, Value: v.get(tableSakeRecords, key)}
	}
	return s.rate(v, entries), keys[len(part):], len(part) < len(keys)
}

// rate copies records and reads what the rater of the scan gave to them.
func (s *sakeScan) rate(v *view, entries []engine.Entry) []item[ratedRow] {
	size, ratings := 0, make([][]byte, len(entries))
	for i, e := range entries {
		size += len(e.Key) + len(e.Value)
		if s.rater != 0 {
			ratings[i] = slices.Concat(e.Key, idKey(s.rater))
		}
	}
	v.load(keysIn(tableSakeRatings, ratings)...)
	rows, space := make([]item[ratedRow], len(entries)), make([]byte, 0, size)
	for i, e := range entries {
		at := len(space)
		space = append(append(space, e.Key...), e.Value...)
		end := at + len(e.Key)
		rows[i].record = ratedRow{engine.Entry{Key: space[at:end:end], Value: space[end:len(space):len(space)]}, -1}
		if s.rater != 0 && isRated(e) {
			rows[i].record.rating = sakeRating(v, ratings[i])
			_ = v.damage() // a damaged rating is none
		}
	}
	return rows
}

// isRated reports whether a record has ratings.
func isRated(e engine.Entry) bool {
	var row storage.SakeRow
	return openSakeRow(e.Key, e.Value, &row) == nil && row.Ratings > 0
}

// sakeRating returns the rating under a key, -1 if there is none.
func sakeRating(v *view, key []byte) int {
	content := v.entry(tableSakeRatings, key, 1)
	if content == nil {
		return -1
	}
	return int(content[0])
}

// SakeRatings is described in [storage.Sake].
func (s *Store) SakeRatings(ctx context.Context, table storage.SakeTableID, rater storage.ProfileID, ids []uint32) ([]int, error) {
	return read(ctx, s, func(v *view) (ratings []int, err error) {
		t, err := getSakeTable(v, table)
		if err != nil {
			return nil, err
		}
		for _, key := range loadEach(v, tableSakeRatings, ids, func(id uint32) []byte { return sakeRatingKey(t.Number, id, rater) }) {
			ratings = append(ratings, sakeRating(v, key))
		}
		return ratings, nil
	})
}

// SakeOwned is described in [storage.Sake].
func (s *Store) SakeOwned(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID) (storage.SakeCount, error) {
	return read(ctx, s, func(v *view) (storage.SakeCount, error) {
		t, err := getSakeTable(v, table)
		return v.sakeSum(sakeOwnedKey(owner, t.Number)).sakeCount(), err
	})
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
func readOwnedSake(v *view, e engine.Entry) (out storage.OwnedSakeRecord, err error) {
	number, id := binary.BigEndian.Uint32(e.Key[4:]), binary.BigEndian.Uint32(e.Key[8:])
	t, err := sakeTableOf(v, number)
	var row storage.SakeRow
	if err == nil {
		row, _, err = sakeRow(v, number, id)
	}
	switch {
	case isMissing(err):
		return out, errNotIndexed
	case err != nil:
		return out, err
	}
	out.SakeTableID = t.id()
	out.SakeRecord, err = row.Record(t.Columns)
	return out, err
}

// CountSake is described in [storage.Sake].
func (s *Store) CountSake(ctx context.Context) (storage.SakeCount, error) {
	n, err := look(ctx, s, func(v *view) sum { return v.total(totalSake) })
	return n.sakeCount(), err
}
