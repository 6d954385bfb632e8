package records

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// sakePlan is a record that is about to be stored, and the changes that this causes.
type sakePlan struct {
	table    sakeTable
	fresh    bool // the table is new
	altered  bool // its columns changed
	rec      storage.SakeRecord
	columns  []uint32
	value    []byte
	existing int // size of the record that is replaced; 0: none
}

// alignColumns finds the columns of the fields, adds missing ones, and remembers the
// types of the fields in changed.
func (p *sakePlan) alignColumns(changed []storage.SakeField) error {
	byName := make(map[string]uint32, len(p.table.Columns))
	for i := range p.table.Columns {
		byName[storage.Fold(p.table.Columns[i].Name)] = uint32(i)
	}
	for _, f := range changed {
		folded := storage.Fold(f.Name)
		i, ok := byName[folded]
		switch {
		case !ok && len(p.table.Columns) >= storage.MaxSakeColumns:
			return fmt.Errorf("%w: the table has %d names of fields", storage.ErrFull, storage.MaxSakeColumns)
		case !ok:
			byName[folded] = uint32(len(p.table.Columns))
			p.table.Columns = append(p.table.Columns, storage.SakeColumn{Name: f.Name, Type: f.Value.Type})
			p.altered = true
		case p.table.Columns[i].Type != f.Value.Type:
			p.table.Columns[i].Type, p.altered = f.Value.Type, true
		}
	}
	p.columns = p.columns[:0]
	for i := range p.rec.Fields {
		p.columns = append(p.columns, byName[storage.Fold(p.rec.Fields[i].Name)])
	}
	return nil
}

// seal makes the value of the record.
func (p *sakePlan) seal() {
	p.value = sealSakeRow(sakeRecordKey(p.table.Number, p.rec.ID), &p.rec, p.columns)
}

// growth is how the counts change.
func (p *sakePlan) growth() sum {
	n := sum{bytes: int64(len(p.value) - p.existing)}
	if p.existing == 0 {
		n.records = 1
	}
	return n
}

// or returns limit, or most if limit is 0 or higher.
func or[N int | int64](limit, most N) N {
	if limit <= 0 {
		return most
	}
	return min(limit, most)
}

// checkSakeLimits returns ErrFull if the record would exceed a limit.
func (c *change) checkSakeLimits(p *sakePlan, lim *storage.SakeLimits) error {
	if len(p.rec.Fields) > or(lim.Fields, storage.MaxSakeFields) {
		return fmt.Errorf("%w: %d fields in a record", storage.ErrFull, len(p.rec.Fields))
	}
	if len(p.value) > or(lim.RecordSize, storage.MaxSakeSize) {
		return fmt.Errorf("%w: a record of %d bytes", storage.ErrFull, len(p.value))
	}
	growth, owner := p.growth(), p.rec.Owner
	if growth.records <= 0 && growth.bytes <= 0 {
		return nil
	}
	c.load(c.sakeCountKeys(&p.table, owner)...)
	for _, check := range []struct {
		key     []byte // nil: all records
		records int
		bytes   int64
		what    string
	}{
		{sakeOwnedKey(owner, p.table.Number), or(lim.PerOwner, math.MaxInt), math.MaxInt64, "records of the profile in the table"},
		{sakeOwnerKey(owner), or(lim.OwnerTotal, storage.MaxSakeOwned), or(lim.OwnerBytes, math.MaxInt64), "records of the profile"},
		{sakeGameKey(sakeGame, p.table.Game), or(lim.PerGame, math.MaxInt), math.MaxInt64, "records of the game"},
		{nil, or(lim.Total, math.MaxInt), or(lim.TotalBytes, math.MaxInt64), "records"},
	} {
		if check.records == math.MaxInt && check.bytes == math.MaxInt64 {
			continue
		}
		n := c.sakeSum(check.key)
		if growth.records > 0 && n.records >= int64(check.records) {
			return fmt.Errorf("%w: there are %d %s", storage.ErrFull, n.records, check.what)
		}
		if growth.bytes > 0 && n.bytes+growth.bytes > check.bytes {
			return fmt.Errorf("%w: there are %d bytes of %s", storage.ErrFull, n.bytes, check.what)
		}
	}
	if !p.fresh {
		return nil
	}
	if n := c.sakeSum(sakeGameKey(sakeTables, p.table.Game)).records; n >= int64(or(lim.Tables, math.MaxInt)) {
		return fmt.Errorf("%w: the game has %d tables", storage.ErrFull, n)
	}
	return nil
}

// sakeSum returns the sum under a key, or that of all records if key is nil.
func (v *view) sakeSum(key []byte) sum {
	if key == nil {
		return v.total(totalSake)
	}
	return v.sum(tableSakeMeta, key)
}

// makeSakeTable stores the data of a new table besides its record.
func (c *change) makeSakeTable(t *sakeTable) {
	c.putEntry(tableSakeMeta, []byte{sakeLastTable}, idKey(t.Number))
	c.putEntry(tableSakeMeta, sakeNumberKey(sakeTableKey, t.Number), sakeTableName(t.id()))
	c.countSake(sakeGameKey(sakeTables, t.Game), sum{records: 1})
}

// storeSake stores a planned record with its index entries and counts.
func (c *change) storeSake(p *sakePlan) {
	t := &p.table
	if p.fresh {
		c.makeSakeTable(t)
	}
	if p.fresh || p.altered {
		c.put(tableSakeTables, sakeTableName(t.id()), t)
	}
	if p.existing == 0 {
		c.putEntry(tableSakeByOwner, sakeByOwnerKey(p.rec.Owner, t.Number, p.rec.ID), nil)
	}
	c.putValue(tableSakeRecords, sakeRecordKey(t.Number, p.rec.ID), p.value)
	c.countSakeRecord(t, p.rec.Owner, p.growth())
}

// planSakeTable finds the table of a new record of an owner, or begins a new one.
func (c *change) planSakeTable(id storage.SakeTableID, owner storage.ProfileID) (p sakePlan, last uint32) {
	c.load(engine.Key{Table: tableSakeTables, Key: sakeTableName(id)}, engine.Key{Table: tableSakeMeta, Key: sakeLastIDKey(id)}, profiles.key(owner))
	t, err := getSakeTable(c.view, id)
	if p.table, p.fresh = t, errors.Is(err, storage.ErrNoTable); p.fresh {
		p.table = sakeTable{Game: id.Game, Name: id.Name, Number: c.sakeNumber([]byte{sakeLastTable}) + 1}
	} else {
		c.failed(err)
	}
	return p, c.sakeNumber(sakeLastIDKey(id))
}

// addSake stores a new record under its id.
func (c *change) addSake(p *sakePlan, last uint32, lim *storage.SakeLimits) {
	profiles.want(c.view, p.rec.Owner)
	if c.failed(p.alignColumns(p.rec.Fields)) {
		return
	}
	p.seal()
	c.failed(c.checkSakeLimits(p, lim))
	if p.rec.ID > last {
		c.putEntry(tableSakeMeta, sakeLastIDKey(p.table.id()), idKey(p.rec.ID))
	}
	c.storeSake(p)
}

// CreateSakeRecord is described in [storage.Sake].
func (s *Store) CreateSakeRecord(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID,
	fields []storage.SakeField, lim storage.SakeLimits,
) (id uint32, err error) {
	if err := errors.Join(table.Check(), storage.CheckSakeFields(fields)); err != nil {
		return 0, err
	}
	now := time.Now().Truncate(time.Second).UTC()
	id, err = perform(ctx, s, func(c *change) (uint32, error) {
		p, last := c.planSakeTable(table, owner)
		if last >= storage.MaxSakeID {
			return 0, fmt.Errorf("ids of records: %w", storage.ErrFull)
		}
		p.rec = storage.SakeRecord{ID: last + 1, Owner: owner, Created: now, Changed: now, Fields: fields}
		c.addSake(&p, last, &lim)
		return last + 1, nil
	})
	return id, wrapped(err, "create SAKE record")
}

// ImportSakeRecord is described in [storage.Sake].
func (s *Store) ImportSakeRecord(ctx context.Context, r storage.OwnedSakeRecord) error {
	if err := errors.Join(r.Check(), storage.CheckSakeFields(r.Fields)); err != nil {
		return err
	}
	if r.ID == 0 || r.ID > storage.MaxSakeID || r.Ratings < 0 || r.RatingSum < 0 {
		return fmt.Errorf("%w: SAKE record %d", storage.ErrInvalid, r.ID)
	}
	err := s.change(ctx, func(c *change) error {
		p, last := c.planSakeTable(r.SakeTableID, r.Owner)
		if c.has(tableSakeRecords, sakeRecordKey(p.table.Number, r.ID)) {
			return storage.ErrTaken
		}
		p.rec = r.SakeRecord
		c.addSake(&p, last, &storage.SakeLimits{})
		return nil
	})
	return wrapped(err, "import SAKE record %d", r.ID)
}

// ownSake returns a table and one of its records, which owner must own unless it is 0.
func (c *change) ownSake(table storage.SakeTableID, id uint32, owner storage.ProfileID) (t sakeTable, r storage.SakeRow, size int) {
	t, err := getSakeTable(c.view, table)
	if err == nil {
		r, size, err = sakeRow(c.view, t.Number, id)
	}
	if err == nil && owner != 0 && r.Owner != owner {
		err = storage.ErrNotOwner
	}
	c.failed(err)
	return t, r, size
}

// replaceSake stores what edit makes of a record, and returns it. The fields in changed are
// new, or have another type.
func (c *change) replaceSake(t sakeTable, row *storage.SakeRow, size int, lim *storage.SakeLimits, edit func(*storage.SakeRecord) (changed []storage.SakeField),
) storage.SakeRecord {
	rec, err := row.Record(t.Columns)
	p := sakePlan{table: t, existing: size, rec: rec}
	if c.failed(err) || c.failed(p.alignColumns(edit(&p.rec))) {
		return rec
	}
	p.seal()
	if lim != nil {
		c.failed(c.checkSakeLimits(&p, lim))
	}
	c.storeSake(&p)
	return p.rec
}

// UpdateSakeRecord is described in [storage.Sake].
func (s *Store) UpdateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID,
	fields []storage.SakeField, lim storage.SakeLimits,
) error {
	if err := errors.Join(table.Check(), storage.CheckSakeFields(fields)); err != nil {
		return err
	}
	now := time.Now().Truncate(time.Second).UTC()
	err := s.change(ctx, func(c *change) error {
		t, row, size := c.ownSake(table, id, owner)
		c.replaceSake(t, &row, size, &lim, func(rec *storage.SakeRecord) []storage.SakeField {
			rec.Merge(fields)
			rec.Changed = now
			return fields
		})
		return nil
	})
	return wrapped(err, "update SAKE record %d", id)
}

// DeleteSakeRecord is described in [storage.Sake].
func (s *Store) DeleteSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID) error {
	err := s.change(ctx, func(c *change) error {
		t, row, size := c.ownSake(table, id, owner)
		c.dropSakeRecord(&t, id, row.Owner, size)
		return nil
	})
	return wrapped(err, "delete SAKE record %d", id)
}

// dropSakeRecord removes a record. Its ratings are removed by SweepSake: there may be
// many, and no later record has that id.
func (c *change) dropSakeRecord(t *sakeTable, id uint32, owner storage.ProfileID, size int) {
	c.delete(tableSakeRecords, sakeRecordKey(t.Number, id))
	c.delete(tableSakeByOwner, sakeByOwnerKey(owner, t.Number, id))
	c.countSakeRecord(t, owner, sum{-1, -int64(size)})
}

// RateSakeRecord is described in [storage.Sake].
func (s *Store) RateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, rater storage.ProfileID, rating int,
) (sum storage.SakeRating, err error) {
	if rating < 0 || rating > math.MaxUint8 {
		return sum, fmt.Errorf("%w: a rating of %d", storage.ErrInvalid, rating)
	}
	sum, err = perform(ctx, s, func(c *change) (sum storage.SakeRating, err error) {
		t, row, size := c.ownSake(table, id, 0)
		key := sakeRatingKey(t.Number, id, rater)
		if c.has(tableSakeRatings, key) {
			return sum, storage.ErrTaken
		}
		rec := c.replaceSake(t, &row, size, nil, func(rec *storage.SakeRecord) []storage.SakeField {
			rec.Ratings++
			rec.RatingSum += int64(rating)
			return nil
		})
		c.putEntry(tableSakeRatings, key, []byte{byte(rating)})
		return storage.SakeRating{Ratings: rec.Ratings, Sum: rec.RatingSum}, nil
	})
	return sum, wrapped(err, "rate SAKE record %d", id)
}
