package records

import (
	"context"
	"encoding/binary"
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
			if isMissing(err) {
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
	v := sakeScan{rater: scan.Rater}
	var owned [][]byte
	err := s.view(ctx, func(tx engine.Reader) error {
		t, err := getSakeTable(tx, table)
		if v.table = t.Number; err == nil && len(scan.Owners) > 0 {
			owned, err = v.owned(tx, scan.Owners)
		}
		return err
	})
	if err != nil {
		return err
	}
	rows := paged(ctx, s, engine.Range{
		Table: tableSakeRecords, From: sakeRecordKey(v.table, scan.First), To: engine.After(sakeRecordKey(v.table, 0)[:4]), Loose: true,
	}, v.page)
	if len(scan.Owners) > 0 {
		rows = paged(ctx, s, owned, v.ownedPage)
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
func (v *sakeScan) page(tx engine.Reader, r engine.Range) (rows []item[ratedRow], rest engine.Range, more bool, err error) {
	entries, rest, more, err := pageEntries(tx, r)
	if err == nil {
		rows, err = v.rate(tx, entries)
	}
	return rows, rest, more, err
}

// owned returns the keys of the records of some owners.
func (v *sakeScan) owned(tx engine.Reader, owners []storage.ProfileID) (keys [][]byte, err error) {
	for _, owner := range owners {
		index, err := keysOf(tx, engine.Prefix(tableSakeByOwner, sakeByOwnerKey(owner, v.table, 0)[:8]))
		if err != nil {
			return nil, err
		}
		for _, key := range index {
			keys = append(keys, key[4:])
		}
	}
	return keys, nil
}

// ownedPage reads the records under the first keys.
func (v *sakeScan) ownedPage(tx engine.Reader, keys [][]byte) (rows []item[ratedRow], rest [][]byte, more bool, err error) {
	part := keys[:min(len(keys), engine.Page)]
	entries := make([]engine.Entry, len(part))
	err = tx.Load(keysIn(tableSakeRecords, part)...)
	for i := 0; err == nil && i < len(part); i++ {
		entries[i].Key = part[i]
		entries[i].Value, err = tx.Get(tableSakeRecords, part[i])
	}
	if err == nil {
		rows, err = v.rate(tx, entries)
	}
	return rows, keys[len(part):], len(part) < len(keys), err
}

// rate copies records and reads what the rater of the scan gave to them.
func (v *sakeScan) rate(tx engine.Reader, entries []engine.Entry) ([]item[ratedRow], error) {
	size, ratings := 0, make([][]byte, len(entries))
	for i, e := range entries {
		size += len(e.Key) + len(e.Value)
		if v.rater != 0 {
			ratings[i] = slices.Concat(e.Key, idKey(v.rater))
		}
	}
	if err := tx.Load(keysIn(tableSakeRatings, ratings)...); err != nil {
		return nil, err
	}
	rows, space := make([]item[ratedRow], len(entries)), make([]byte, 0, size)
	for i, e := range entries {
		at := len(space)
		space = append(append(space, e.Key...), e.Value...)
		end := at + len(e.Key)
		rows[i].record = ratedRow{engine.Entry{Key: space[at:end:end], Value: space[end:len(space):len(space)]}, -1}
		var err error
		if rating := &rows[i].record.rating; v.rater != 0 && isRated(e) {
			*rating, err = sakeRating(tx, ratings[i])
		}
		if err != nil && !isDamage(err) {
			return nil, err
		}
	}
	return rows, nil
}

// isRated reports whether a record has ratings.
func isRated(e engine.Entry) bool {
	var row storage.SakeRow
	return openSakeRow(e.Key, e.Value, &row) == nil && row.Ratings > 0
}

// sakeRating returns the rating under a key, -1 if there is none.
func sakeRating(tx engine.Reader, key []byte) (int, error) {
	content, err := getEntry(tx, tableSakeRatings, key, 1)
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
		for _, key := range keys {
			rating, err := sakeRating(tx, key)
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
func (s *Store) CountSake(ctx context.Context) (storage.SakeCount, error) {
	return read(ctx, s, countAllSake)
}
