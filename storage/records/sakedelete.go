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
func (c *change) dropSake(owner storage.ProfileID) error {
	all, err := c.dropSakeOwned(owner)
	if err != nil || all == (sum{}) {
		return err
	}
	c.addTotal(totalSake, all)
	c.delete(tableSakeMeta, sakeOwnerKey(owner))
	keys, err := keysOf(c, engine.Prefix(tableSakeByOwner, idKey(owner)))
	for _, key := range keys {
		c.delete(tableSakeRecords, key[4:])
		c.delete(tableSakeByOwner, key)
	}
	return err
}

// dropSakeOwned removes the counts of a profile in tables, takes them out of those of the
// tables and games, and returns how much was taken, which is negative.
func (c *change) dropSakeOwned(owner storage.ProfileID) (all sum, err error) {
	prefix := append([]byte{sakeOwned}, idKey(owner)...)
	owned, err := keysOf(c, engine.Prefix(tableSakeMeta, prefix))
	if err != nil {
		return all, err
	}
	var keys []engine.Key
	for _, key := range owned {
		number := binary.BigEndian.Uint32(key[len(prefix):])
		keys = append(keys, engine.Key{Table: tableSakeMeta, Key: key}, engine.Key{Table: tableSakeMeta, Key: sakeNumberKey(sakeTableKey, number)},
			engine.Key{Table: tableSakeMeta, Key: sakeNumberKey(sakeTableCount, number)})
	}
	if err := c.Load(keys...); err != nil {
		return all, err
	}
	for _, key := range owned {
		n, err := sakeCount(c, key)
		if err != nil {
			return all, err
		}
		number := binary.BigEndian.Uint32(key[len(prefix):])
		t, err := sakeTableOf(c, number)
		if err != nil {
			return all, err
		}
		less := storage.SakeCount{Records: -n.Records, Bytes: -n.Bytes}
		all.records += int64(less.Records)
		all.bytes += less.Bytes
		c.countSake(sakeGameKey(sakeGame, t.Game), less)
		c.countSake(sakeNumberKey(sakeTableCount, number), less)
		c.delete(tableSakeMeta, key)
	}
	return all, nil
}

// DeleteSakeTable is described in [storage.Sake].
func (s *Store) DeleteSakeTable(ctx context.Context, table storage.SakeTableID) (removed int, err error) {
	for more := true; more; {
		n := 0
		err := s.change(ctx, func(c *change) (err error) {
			n, more, err = c.emptySakeTable(table)
			return err
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
func (c *change) emptySakeTable(table storage.SakeTableID) (n int, more bool, err error) {
	t, err := getSakeTable(c, table)
	if err != nil {
		return 0, false, err
	}
	entries, _, more, err := pageEntries(c, engine.Prefix(tableSakeRecords, sakeRecordKey(t.Number, 0)[:4]))
	if err != nil {
		return 0, false, err
	}
	var keys []engine.Key
	rows := make([]storage.SakeRow, len(entries))
	for i, e := range entries {
		if err := openSakeRow(e.Key, e.Value, &rows[i]); err != nil {
			return 0, false, fmt.Errorf("%s %q: %w", tableSakeRecords, e.Key, err)
		}
		keys = append(keys, c.sakeCountKeys(&t, rows[i].Owner)...)
	}
	if err := c.Load(keys...); err != nil {
		return 0, false, err
	}
	for i, e := range entries {
		c.dropSakeRecord(&t, rows[i].ID, rows[i].Owner, len(e.Value))
	}
	if !more {
		c.delete(tableSakeTables, sakeTableName(table))
		c.delete(tableSakeMeta, sakeNumberKey(sakeTableKey, t.Number))
		c.countSake(sakeGameKey(sakeTables, t.Game), storage.SakeCount{Records: -1})
	}
	return len(entries), more, nil
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
func ratingStays(tx engine.Reader, e engine.Entry) (record, author bool, err error) {
	if record, err = has(tx, tableSakeRecords, e.Key[:8]); err == nil {
		author, err = has(tx, tableProfiles, e.Key[8:])
	}
	return record, author, err
}

// orphanRatings returns the keys of the ratings on the first page of a range whose record or
// author is gone, and what follows, if there is more.
func orphanRatings(tx engine.Reader, r engine.Range) (gone []item[[]byte], rest engine.Range, more bool, err error) {
	ratings, rest, more, err := pageEntries(tx, r)
	if err == nil {
		err = loadNeeds(tx, ratings, []need{ratedRecord, ratingAuthor})
	}
	for i := 0; err == nil && i < len(ratings); i++ {
		var record, author bool
		if record, author, err = ratingStays(tx, ratings[i]); !record || !author {
			gone = append(gone, item[[]byte]{record: bytes.Clone(ratings[i].Key)})
		}
	}
	return gone, rest, more, err
}

// dropRating removes a rating whose record or author is gone, from the average of the record
// too, and returns how many it removed. The times of the record stay.
func (c *change) dropRating(key []byte) (int, error) {
	of := engine.Entry{Key: key}
	if err := c.Load(ratedRecord(of), ratingAuthor(of), engine.Key{Table: tableSakeRatings, Key: key}); err != nil {
		return 0, err
	}
	record, author, err := ratingStays(c, of)
	if err != nil || record && author { // imported again in between
		return 0, err
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
	rating, err := sakeRating(c, key)
	if err != nil || rating < 0 {
		return err
	}
	t, err := sakeTableOf(c, table)
	if err != nil {
		return err
	}
	row, size, err := sakeRow(c, table, id)
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
	c.storeSake(&p)
	return nil
}
