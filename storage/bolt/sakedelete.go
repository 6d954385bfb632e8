package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// dropSake removes all records of a profile. Their number is bounded by
// storage.MaxSakeOwned; the counts of tables change once for each table.
func (c *change) dropSake(owner storage.ProfileID) error {
	total := storage.SakeCount{}
	prefix := append([]byte{sakeOwned}, idKey(owner)...)
	for _, key := range keysOf(c.Tx, bucketSakeMeta, prefix, 0) {
		n, err := sakeCount(c.Tx, key)
		if err != nil {
			return err
		}
		number := binary.BigEndian.Uint32(key[len(prefix):])
		t, err := sakeTableOf(c.Tx, number)
		if err != nil {
			return err
		}
		less := storage.SakeCount{Records: -n.Records, Bytes: -n.Bytes}
		total.Records += less.Records
		total.Bytes += less.Bytes
		if err := errors.Join(c.countSake(sakeGameKey(sakeGame, t.Game), less),
			c.countSake(sakeNumberKey(sakeTableCount, number), less), c.delete(bucketSakeMeta, key)); err != nil {
			return err
		}
	}
	if total.Records == 0 {
		return nil
	}
	if err := errors.Join(c.countSake([]byte{sakeAll}, total), c.delete(bucketSakeMeta, sakeOwnerKey(owner))); err != nil {
		return err
	}
	for _, key := range keysOf(c.Tx, bucketSakeByOwner, idKey(owner), 0) {
		if err := errors.Join(c.delete(bucketSakeRecords, key[4:]), c.delete(bucketSakeByOwner, key)); err != nil {
			return err
		}
	}
	return nil
}

// keysOf returns copies of the keys of a bucket that begin with prefix, at most limit
// of them unless that is 0.
func keysOf(tx *bbolt.Tx, bucket string, prefix []byte, limit int) (keys [][]byte) {
	c := tx.Bucket([]byte(bucket)).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix) && (limit == 0 || len(keys) < limit); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	return keys
}

// DeleteSakeTable is described in [storage.Sake].
func (s *Store) DeleteSakeTable(ctx context.Context, table storage.SakeTableID) (removed int, err error) {
	for done := false; !done; {
		n := 0
		err := s.change(ctx, func(c *change) error {
			n = 0
			t, err := getSakeTable(c.Tx, table)
			if err != nil {
				return err
			}
			for _, key := range keysOf(c.Tx, bucketSakeRecords, sakeRecordKey(t.Number, 0)[:4], sweepStep) {
				id := binary.BigEndian.Uint32(key[4:])
				row, size, err := sakeRow(c.Tx, t.Number, id)
				if err != nil {
					return err
				}
				if err := c.dropSakeRecord(&t, id, row.Owner, size); err != nil {
					return err
				}
				n++
			}
			if done = n < sweepStep; !done {
				return nil
			}
			return errors.Join(c.delete(bucketSakeTables, sakeTableName(table)),
				c.delete(bucketSakeMeta, sakeNumberKey(sakeTableKey, t.Number)),
				c.countSake(sakeGameKey(sakeTables, t.Game), storage.SakeCount{Records: -1}))
		})
		if err != nil {
			return removed, fmt.Errorf("delete SAKE table: %w", err)
		}
		ctx = storage.WithoutAudit(ctx) // one entry is enough
		removed += n
	}
	return removed, nil
}

// sakeSweepPage is the number of ratings that SweepSake looks at in one step.
const sakeSweepPage = 10_000

// SweepSake is described in [storage.Sake].
func (s *Store) SweepSake(ctx context.Context) (total int, err error) {
	for from := []byte{}; from != nil; {
		var gone [][]byte
		err := s.view(ctx, func(tx *bbolt.Tx) error {
			gone, from = orphanRatings(tx, from)
			return nil
		})
		if err != nil {
			return total, err
		}
		n, err := sweep(ctx, s, "SAKE ratings", gone, (*change).dropRating)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// orphanRatings returns the keys of the ratings on one page whose record or author is
// gone, and the start of the following page.
func orphanRatings(tx *bbolt.Tx, from []byte) (gone [][]byte, next []byte) {
	records, profiles := tx.Bucket([]byte(bucketSakeRecords)), tx.Bucket([]byte(bucketProfiles))
	c := tx.Bucket([]byte(bucketSakeRatings)).Cursor()
	seen := 0
	for k, _ := c.Seek(from); k != nil; k, _ = c.Next() {
		if seen++; seen > sakeSweepPage {
			return gone, bytes.Clone(k)
		}
		if records.Get(k[:8]) == nil || profiles.Get(k[8:]) == nil {
			gone = append(gone, bytes.Clone(k))
		}
	}
	return gone, nil
}

// dropRating removes a rating whose record or author is gone, from the average of the record
// too, and returns how many it removed. The times of the record stay.
func (c *change) dropRating(key []byte) (int, error) {
	table, id, rater := binary.BigEndian.Uint32(key), binary.BigEndian.Uint32(key[4:]), storage.ProfileID(binary.BigEndian.Uint32(key[8:]))
	if c.Bucket([]byte(bucketSakeRecords)).Get(key[:8]) != nil {
		if c.Bucket([]byte(bucketProfiles)).Get(key[8:]) != nil {
			return 0, nil // imported again in between
		}
		rating, err := sakeRating(c.Bucket([]byte(bucketSakeRatings)), table, id, rater)
		if err == nil && rating >= 0 {
			err = c.withdrawRating(table, id, rating)
		}
		if err != nil && !errors.Is(err, storage.ErrDamaged) { // a damaged record has no average
			return 0, err
		}
	}
	return 1, c.delete(bucketSakeRatings, key)
}

// withdrawRating takes a rating out of the sum of a record.
func (c *change) withdrawRating(table, id uint32, rating int) error {
	t, err := sakeTableOf(c.Tx, table)
	if err != nil {
		return err
	}
	row, size, err := sakeRow(c.Tx, table, id)
	if err != nil {
		return err
	}
	p := sakePlan{table: t, existing: size}
	if p.rec, err = row.Record(t.Columns); err != nil {
		return err
	}
	p.rec.Ratings, p.rec.RatingSum = max(p.rec.Ratings-1, 0), max(p.rec.RatingSum-int64(rating), 0)
	if err := p.alignColumns(nil); err != nil {
		return err
	}
	p.seal()
	return c.storeSake(&p)
}
