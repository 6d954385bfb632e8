package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// describeSake returns a table with its counts.
func describeSake(tx *bbolt.Tx, t *sakeTable) (storage.SakeTable, error) {
	n, err := sakeCount(tx, sakeNumberKey(sakeTableCount, t.Number))
	return storage.SakeTable{SakeTableID: t.id(), Columns: t.Columns, Records: n.Records, Bytes: n.Bytes}, err
}

// GetSakeTable is described in [storage.Sake].
func (s *Store) GetSakeTable(ctx context.Context, table storage.SakeTableID) (out storage.SakeTable, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
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
	prefix := []byte{}
	if game != "" {
		prefix = gamePrefix(game)
	}
	return iterate(ctx, s, bucketSakeTables, prefix, func(tx *bbolt.Tx, k, v []byte) (storage.SakeTable, error) {
		t, err := readRecord[sakeTable](tx, k, v)
		if err != nil {
			return storage.SakeTable{}, err
		}
		return describeSake(tx, &t)
	})
}

// SakeRecords is described in [storage.Sake].
func (s *Store) SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) (all []storage.SakeRecord, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		t, err := getSakeTable(tx, table)
		if err != nil {
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
	return s.view(ctx, func(tx *bbolt.Tx) error {
		t, err := getSakeTable(tx, table)
		if err != nil {
			return err
		}
		if scan.Rater != 0 {
			visit = withRating(tx, t.Number, scan.Rater, visit)
		}
		if len(scan.Owners) > 0 {
			scanSakeOwners(tx, t.Number, scan.Owners, visit)
			return nil
		}
		prefix := sakeRecordKey(t.Number, 0)[:4]
		c := tx.Bucket([]byte(bucketSakeRecords)).Cursor()
		var row storage.SakeRow
		for k, v := c.Seek(sakeRecordKey(t.Number, scan.First)); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if err := openSakeRow(k, v, &row); err == nil && !visit(&row) {
				break
			}
		}
		return nil
	})
}

// withRating returns a visit whose rows have the rating of a profile.
func withRating(tx *bbolt.Tx, table uint32, rater storage.ProfileID, visit func(*storage.SakeRow) bool) func(*storage.SakeRow) bool {
	b := tx.Bucket([]byte(bucketSakeRatings))
	return func(r *storage.SakeRow) bool {
		if r.Ratings > 0 {
			r.MyRating, _ = sakeRating(b, table, r.ID, rater)
		}
		return visit(r)
	}
}

// sakeRating returns the rating of a profile for a record, -1 if there is none.
func sakeRating(b *bbolt.Bucket, table, id uint32, rater storage.ProfileID) (int, error) {
	key := sakeRatingKey(table, id, rater)
	v := b.Get(key)
	if v == nil {
		return -1, nil
	}
	content, err := openEntry(key, v)
	if err != nil || len(content) != 1 {
		return -1, fmt.Errorf("%s %q: %w", bucketSakeRatings, key, storage.ErrDamaged)
	}
	return int(content[0]), nil
}

// scanSakeOwners visits the records of some owners in a table.
func scanSakeOwners(tx *bbolt.Tx, table uint32, owners []storage.ProfileID, visit func(*storage.SakeRow) bool) {
	index := tx.Bucket([]byte(bucketSakeByOwner)).Cursor()
	for _, owner := range owners {
		first := sakeByOwnerKey(owner, table, 0)
		prefix := first[:8]
		for k, _ := index.Seek(first); bytes.HasPrefix(k, prefix); k, _ = index.Next() {
			row, _, err := sakeRow(tx, table, binary.BigEndian.Uint32(k[8:]))
			if err == nil && !visit(&row) {
				return
			}
		}
	}
}

// SakeRatings is described in [storage.Sake].
func (s *Store) SakeRatings(ctx context.Context, table storage.SakeTableID, rater storage.ProfileID, ids []uint32) (ratings []int, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		t, err := getSakeTable(tx, table)
		if err != nil {
			return err
		}
		b := tx.Bucket([]byte(bucketSakeRatings))
		for _, id := range ids {
			rating, err := sakeRating(b, t.Number, id, rater)
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
	err = s.view(ctx, func(tx *bbolt.Tx) error {
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
	return iterate(ctx, s, bucketSakeByOwner, idKey(owner), func(tx *bbolt.Tx, k, _ []byte) (out storage.OwnedSakeRecord, err error) {
		number, id := binary.BigEndian.Uint32(k[4:]), binary.BigEndian.Uint32(k[8:])
		t, err := sakeTableOf(tx, number)
		if err != nil {
			return out, err
		}
		row, _, err := sakeRow(tx, number, id)
		if err != nil {
			return out, err
		}
		out.SakeTableID = t.id()
		out.SakeRecord, err = row.Record(t.Columns)
		return out, err
	})
}

// CountSake is described in [storage.Sake].
func (s *Store) CountSake(ctx context.Context) (n storage.SakeCount, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		n, err = sakeCount(tx, []byte{sakeAll})
		return err
	})
	return n, err
}
