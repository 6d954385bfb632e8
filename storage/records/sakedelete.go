package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// dropSake removes all records of a profile. Their number is bounded by
// storage.MaxSakeOwned; the counts of tables change once for each table.
func (c *change) dropSake(owner storage.ProfileID) {
	all := c.dropSakeOwned(owner)
	if all == (sum{}) {
		return
	}
	c.addTotal(totalSake, all)
	c.delete(tableSakeMeta, sakeOwnerKey(owner))
	for _, key := range c.keys(engine.Prefix(tableSakeByOwner, idKey(owner))) {
		c.delete(tableSakeRecords, key[4:])
		c.delete(tableSakeByOwner, key)
	}
}

// dropSakeOwned removes the counts of a profile in tables, takes them out of those of the
// tables and games, and returns how much was taken, which is negative.
func (c *change) dropSakeOwned(owner storage.ProfileID) (all sum) {
	prefix := append([]byte{sakeOwned}, idKey(owner)...)
	owned := c.keys(engine.Prefix(tableSakeMeta, prefix))
	var keys [][]byte
	for _, key := range owned {
		number := binary.BigEndian.Uint32(key[len(prefix):])
		keys = append(keys, key, sakeNumberKey(sakeTableKey, number), sakeNumberKey(sakeTableCount, number))
	}
	c.load(keysIn(tableSakeMeta, keys)...)
	for _, key := range owned {
		number := binary.BigEndian.Uint32(key[len(prefix):])
		t, err := sakeTableOf(c.view, number)
		c.failed(err)
		n := c.sakeSum(key)
		less := sum{-n.records, -n.bytes}
		all = sum{all.records + less.records, all.bytes + less.bytes}
		c.countSake(sakeGameKey(sakeGame, t.Game), less)
		c.countSake(sakeNumberKey(sakeTableCount, number), less)
		c.delete(tableSakeMeta, key)
	}
	return all
}

// DeleteSakeTable is described in [storage.Sake].
func (s *Store) DeleteSakeTable(ctx context.Context, table storage.SakeTableID) (removed int, err error) {
	for more := true; more; {
		n := 0
		err := s.change(ctx, func(c *change) error {
			n, more = c.emptySakeTable(table)
			return nil
		})
		if err != nil {
			return removed, fmt.Errorf("delete SAKE table: %w", err)
		}
		ctx = storage.WithoutAudit(ctx) // one entry is enough
		removed += n
	}
	return removed, nil
}

// emptySakeTable removes some records of a table, and the table itself when it has no more.
func (c *change) emptySakeTable(table storage.SakeTableID) (n int, more bool) {
	t, err := getSakeTable(c.view, table)
	c.failed(err)
	entries, _, more := pageEntries(c.view, engine.Prefix(tableSakeRecords, idKey(t.Number)))
	var keys []engine.Key
	rows := make([]storage.SakeRow, len(entries))
	for i, e := range entries {
		c.failed(about(tableSakeRecords, e.Key, openSakeRow(e.Key, e.Value, &rows[i])))
		keys = append(keys, c.sakeCountKeys(&t, rows[i].Owner)...)
	}
	c.load(keys...)
	for i, e := range entries {
		c.dropSakeRecord(&t, rows[i].ID, rows[i].Owner, len(e.Value))
	}
	if !more {
		c.delete(tableSakeTables, sakeTableName(table))
		c.delete(tableSakeMeta, sakeNumberKey(sakeTableKey, t.Number))
		c.countSake(sakeGameKey(sakeTables, t.Game), sum{records: -1})
	}
	return len(entries), more
}

// SweepSake is described in [storage.Sake].
func (s *Store) SweepSake(ctx context.Context) (total int, err error) {
	orphan := func(key *[]byte) ([]byte, bool) { return *key, true }
	return sweep(ctx, s, "SAKE ratings", paged(ctx, s, whole(tableSakeRatings), orphanRatings), orphan, (*change).dropRating)
}

// A rating needs its record and its author to stay.
func ratedRecord(e engine.Entry) engine.Key {
	return engine.Key{Table: tableSakeRecords, Key: e.Key[:8]}
}

func ratingAuthor(e engine.Entry) engine.Key {
	return engine.Key{Table: tableProfiles, Key: e.Key[8:]}
}

// ratingStays reports whether the record and the author of a rating are there.
func ratingStays(v *view, e engine.Entry) (record, author bool) {
	return v.has(tableSakeRecords, e.Key[:8]), v.has(tableProfiles, e.Key[8:])
}

// orphanRatings returns the keys of the ratings on the first page of a range whose record or
// author is gone, and what follows, if there is more.
func orphanRatings(v *view, r engine.Range) (gone []item[[]byte], rest engine.Range, more bool) {
	ratings, rest, more := pageEntries(v, r)
	loadNeeds(v, ratings, []need{ratedRecord, ratingAuthor})
	for _, e := range ratings {
		if record, author := ratingStays(v, e); !record || !author {
			gone = append(gone, item[[]byte]{record: bytes.Clone(e.Key)})
		}
	}
	return gone, rest, more
}

// dropRating removes a rating whose record or author is gone, from the average of the record
// too, and returns how many it removed. The times of the record stay.
func (c *change) dropRating(key []byte) (int, error) {
	of := engine.Entry{Key: key}
	c.load(ratedRecord(of), ratingAuthor(of), engine.Key{Table: tableSakeRatings, Key: key})
	record, author := ratingStays(c.view, of)
	if record && author { // imported again in between
		return 0, nil
	}
	if record {
		err := c.withdrawRating(key)
		if err != nil && !isDamage(err) { // a damaged record has no average
			return 0, err
		}
	}
	c.delete(tableSakeRatings, key)
	return 1, nil
}

// withdrawRating takes the rating under a key out of the sum of its record.
func (c *change) withdrawRating(key []byte) error {
	table, id := binary.BigEndian.Uint32(key), binary.BigEndian.Uint32(key[4:])
	rating := sakeRating(c.view, key)
	if damage := c.damage(); damage != nil || rating < 0 {
		return damage
	}
	t, err := sakeTableOf(c.view, table)
	if err != nil {
		return err
	}
	row, size, err := sakeRow(c.view, table, id)
	if err != nil {
		return err
	}
	c.replaceSake(t, &row, size, nil, func(rec *storage.SakeRecord) []storage.SakeField {
		rec.Ratings, rec.RatingSum = max(rec.Ratings-1, 0), max(rec.RatingSum-int64(rating), 0)
		return nil
	})
	return c.damage()
}
