package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// sakeHead is the size of a record beside its fields.
const sakeHead = 40

// sakeTable is a row of sake_tables.
type sakeTable struct {
	storage.SakeTable

	number int64
	lastID int64
	live   bool // false: the table is deleted
}

const sakeTableColumns = `number, game, name, live, columns, last_id, records, bytes`

// scanSakeTable reads the columns sakeTableColumns.
func scanSakeTable(row pgx.Row, t *sakeTable) error {
	var columns []byte
	if err := row.Scan(&t.number, &t.Game, &t.Name, &t.live, &columns, &t.lastID, &t.Records, &t.Bytes); err != nil {
		return err
	}
	t.Columns = nil
	return decode(columns, &t.Columns, "columns of SAKE table", t.Name)
}

// queueSakeTable reads a table. lock is the clause that locks it, or empty.
func queueSakeTable(b *pgx.Batch, id storage.SakeTableID, lock string, t *sakeTable) {
	*t = sakeTable{}
	b.Queue(`SELECT `+sakeTableColumns+` FROM sake_tables WHERE game = $1 AND folded = $2 `+lock, lookup(id.Game), lookup(storage.Fold(id.Name))).
		QueryRow(func(row pgx.Row) error {
			if err := scanSakeTable(row, t); !noRows(err) {
				return err
			}
			return nil
		})
}

// align finds the columns of the fields, adds missing ones, and sets their types to those
// of changed. altered reports that the columns changed.
func (t *sakeTable) align(fields, changed []storage.SakeField) (columns []uint32, altered bool, err error) {
	byName := make(map[string]uint32, len(t.Columns))
	for i := range t.Columns {
		byName[storage.Fold(t.Columns[i].Name)] = uint32(i)
	}
	for _, f := range changed {
		folded := storage.Fold(f.Name)
		i, ok := byName[folded]
		switch {
		case !ok && len(t.Columns) >= storage.MaxSakeColumns:
			return nil, false, fmt.Errorf("%w: the table has %d names of fields", storage.ErrFull, storage.MaxSakeColumns)
		case !ok:
			byName[folded] = uint32(len(t.Columns))
			t.Columns = append(t.Columns, storage.SakeColumn{Name: f.Name, Type: f.Value.Type})
			altered = true
		case t.Columns[i].Type != f.Value.Type:
			t.Columns[i].Type, altered = f.Value.Type, true
		}
	}
	columns = make([]uint32, len(fields))
	for i := range fields {
		columns[i] = byName[storage.Fold(fields[i].Name)]
	}
	return columns, altered, nil
}

// sakeSums are the sums to which a record belongs, after a change.
type sakeSums struct {
	owner, all          storage.SakeCount
	owned, game, tables int
}

// scanTo returns a function that reads a row.
func scanTo(to ...any) func(pgx.Row) error { return func(row pgx.Row) error { return row.Scan(to...) } }

// queueSakeAdded adds a record to the sums of its table, which is locked, and of its
// owner. tables is 1 for a new table.
func queueSakeAdded(b *pgx.Batch, t *sakeTable, owner storage.ProfileID, tables int, bytes int64, sums *sakeSums) {
	b.Queue(`INSERT INTO sake_owners AS o (owner, records, bytes) VALUES ($1, 1, $2)
		ON CONFLICT (owner) DO UPDATE SET records = o.records + 1, bytes = o.bytes + $2 RETURNING records, bytes`,
		int64(owner), bytes).QueryRow(scanTo(&sums.owner.Records, &sums.owner.Bytes))
	b.Queue(`INSERT INTO sake_owned AS o (owner, table_no, records, bytes) VALUES ($1, $2, 1, $3)
		ON CONFLICT (owner, table_no) DO UPDATE SET records = o.records + 1, bytes = o.bytes + $3 RETURNING records`,
		int64(owner), t.number, bytes).QueryRow(scanTo(&sums.owned))
	b.Queue(`INSERT INTO sake_games AS g (game, tables, records) VALUES ($1, $2, 1)
		ON CONFLICT (game) DO UPDATE SET tables = g.tables + $2, records = g.records + 1 RETURNING tables, records`,
		t.Game, tables).QueryRow(scanTo(&sums.tables, &sums.game))
	b.Queue(`UPDATE sake_totals SET records = records + 1, bytes = bytes + $1 RETURNING records, bytes`,
		bytes).QueryRow(scanTo(&sums.all.Records, &sums.all.Bytes))
}

// queueSakeGrown changes the sums of a table, which is locked, and of an owner by some
// bytes.
func queueSakeGrown(b *pgx.Batch, t *sakeTable, owner storage.ProfileID, bytes int64, sums *sakeSums) {
	if bytes == 0 {
		return
	}
	b.Queue(`UPDATE sake_owners SET bytes = bytes + $2 WHERE owner = $1 RETURNING bytes`, int64(owner), bytes).
		QueryRow(scanTo(&sums.owner.Bytes))
	b.Queue(`UPDATE sake_owned SET bytes = bytes + $3 WHERE owner = $1 AND table_no = $2`, int64(owner), t.number, bytes)
	b.Queue(`UPDATE sake_totals SET bytes = bytes + $1 RETURNING bytes`, bytes).QueryRow(scanTo(&sums.all.Bytes))
}

// or returns limit, or most if limit is 0 or higher.
func or[N int | int64](limit, most N) N {
	if limit <= 0 {
		return most
	}
	return min(limit, most)
}

// checkSakeRecord returns ErrFull for a record that exceeds a limit by itself.
func checkSakeRecord(fields, size int, lim *storage.SakeLimits) error {
	if fields > or(lim.Fields, storage.MaxSakeFields) {
		return fmt.Errorf("%w: %d fields in a record", storage.ErrFull, fields)
	}
	if size > or(lim.RecordSize, storage.MaxSakeSize) {
		return fmt.Errorf("%w: a record of %d bytes", storage.ErrFull, size)
	}
	return nil
}

// check returns ErrFull if a change that adds records, tables or bytes has exceeded a
// limit: the step is undone then.
func (sums *sakeSums) check(records, tables int, bytes int64, lim *storage.SakeLimits) error {
	for _, check := range []struct {
		records, most int
		what          string
	}{
		{sums.owned, or(lim.PerOwner, math.MaxInt), "records of the profile in the table"},
		{sums.owner.Records, or(lim.OwnerTotal, storage.MaxSakeOwned), "records of the profile"},
		{sums.game, or(lim.PerGame, math.MaxInt), "records of the game"},
		{sums.all.Records, or(lim.Total, math.MaxInt), "records"},
	} {
		if records > 0 && check.records > check.most {
			return fmt.Errorf("%w: there are %d %s", storage.ErrFull, check.most, check.what)
		}
	}
	if bytes > 0 && sums.owner.Bytes > or(lim.OwnerBytes, math.MaxInt64) {
		return fmt.Errorf("%w: there are %d bytes of records of the profile", storage.ErrFull, sums.owner.Bytes-bytes)
	}
	if bytes > 0 && sums.all.Bytes > or(lim.TotalBytes, math.MaxInt64) {
		return fmt.Errorf("%w: there are %d bytes of records", storage.ErrFull, sums.all.Bytes-bytes)
	}
	if tables > 0 && sums.tables > or(lim.Tables, math.MaxInt) {
		return fmt.Errorf("%w: the game has %d tables", storage.ErrFull, sums.tables-1)
	}
	return nil
}

// CreateSakeRecord is described in [storage.Sake].
func (s *Store) CreateSakeRecord(ctx context.Context, table storage.SakeTableID, owner storage.ProfileID,
	fields []storage.SakeField, lim storage.SakeLimits,
) (id uint32, err error) {
	if err := errors.Join(table.Check(), storage.CheckSakeFields(fields)); err != nil {
		return 0, err
	}
	now := time.Now().Truncate(time.Second).UTC()
	err = s.write(ctx, func(ctx context.Context, c *change) (err error) {
		rec := storage.SakeRecord{Owner: owner, Created: now, Changed: now, Fields: fields}
		id, err = addSake(ctx, c, table, &rec, &lim)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("create SAKE record: %w", err)
	}
	return id, nil
}

// ImportSakeRecord is described in [storage.Sake].
func (s *Store) ImportSakeRecord(ctx context.Context, r storage.OwnedSakeRecord) error {
	if err := errors.Join(r.Check(), storage.CheckSakeFields(r.Fields)); err != nil {
		return err
	}
	if r.ID == 0 || r.ID > storage.MaxSakeID || r.Ratings < 0 || r.RatingSum < 0 {
		return fmt.Errorf("%w: SAKE record %d", storage.ErrInvalid, r.ID)
	}
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		_, err := addSake(ctx, c, r.SakeTableID, &r.SakeRecord, &storage.SakeLimits{})
		return err
	})
	if err != nil {
		return fmt.Errorf("import SAKE record %d: %w", r.ID, err)
	}
	return nil
}

// addSake stores a new record under its id, or under the next one if that is 0, and
// returns it.
func addSake(ctx context.Context, q querier, id storage.SakeTableID, rec *storage.SakeRecord, lim *storage.SakeLimits) (uint32, error) {
	t, err := lockSakeTable(ctx, q, id, rec)
	if err != nil {
		return 0, err
	}
	tables := 0
	if !t.live { // a new one, or one that was deleted
		t.live, t.Name, t.Columns, tables = true, id.Name, nil, 1
	}
	number := int64(rec.ID)
	if number == 0 {
		number = t.lastID + 1
	}
	if number > storage.MaxSakeID {
		return 0, fmt.Errorf("ids of records: %w", storage.ErrFull)
	}
	t.lastID = max(t.lastID, number)
	columns, altered, err := t.align(rec.Fields, rec.Fields)
	if err != nil {
		return 0, err
	}
	value := storage.AppendSakeFields(nil, rec.Fields, columns)
	size := sakeHead + len(value)
	if err := checkSakeRecord(len(rec.Fields), size, lim); err != nil {
		return 0, err
	}
	var b pgx.Batch
	if err := t.queueUpdate(&b, 1, int64(size), altered || tables > 0); err != nil {
		return 0, err
	}
	var sums sakeSums
	queueSakeAdded(&b, &t, rec.Owner, tables, int64(size), &sums)
	b.Queue(`INSERT INTO sake_records (table_no, id, owner, created, changed, ratings, rating_sum, fields)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		t.number, number, int64(rec.Owner), rec.Created.Unix(), rec.Changed.Unix(), int64(rec.Ratings), rec.RatingSum, notNil(value))
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return 0, err
	}
	return uint32(number), sums.check(1, tables, int64(size), lim)
}

// lockSakeTable locks the table of a new record, which is made if it is missing, and
// checks the owner and the id of the record.
func lockSakeTable(ctx context.Context, q querier, id storage.SakeTableID, rec *storage.SakeRecord) (t sakeTable, err error) {
	var b pgx.Batch
	var there []storage.ProfileID
	taken := false
	lockProfiles(&b, []storage.ProfileID{rec.Owner}, &there)
	b.Queue(`INSERT INTO sake_tables (game, folded, name, live, columns, last_id) SELECT $1::text, $2::text, $3::text, false, '[]', 0
		WHERE NOT EXISTS (SELECT FROM sake_tables WHERE game = $1 AND folded = $2)
		ON CONFLICT (game, folded) DO NOTHING`, lookup(id.Game), lookup(storage.Fold(id.Name)), id.Name)
	queueSakeTable(&b, id, `FOR NO KEY UPDATE`, &t)
	if rec.ID != 0 {
		b.Queue(`SELECT EXISTS (SELECT FROM sake_tables AS t JOIN sake_records AS r ON r.table_no = t.number
			WHERE t.game = $1 AND t.folded = $2 AND r.id = $3)`, lookup(id.Game), lookup(storage.Fold(id.Name)), int64(rec.ID)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
	}
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return t, err
	}
	switch {
	case len(there) == 0:
		return t, fmt.Errorf("profile %d: %w", rec.Owner, storage.ErrNotFound)
	case taken:
		return t, storage.ErrTaken
	}
	return t, nil
}

// queueUpdate writes a table, which is locked, with so many more records and bytes.
func (t *sakeTable) queueUpdate(b *pgx.Batch, records int, bytes int64, altered bool) error {
	if !altered {
		b.Queue(`UPDATE sake_tables SET last_id = $2, records = records + $3, bytes = bytes + $4 WHERE number = $1`,
			t.number, t.lastID, records, bytes)
		return nil
	}
	columns, err := json.Marshal(append([]storage.SakeColumn{}, t.Columns...))
	if err != nil {
		return err
	}
	b.Queue(`UPDATE sake_tables SET last_id = $2, records = records + $3, bytes = bytes + $4, name = $5, live = $6, columns = $7
		WHERE number = $1`, t.number, t.lastID, records, bytes, t.Name, t.live, columns)
	return nil
}

// ownSake locks a record, which owner must own unless it is 0, and returns it with its
// table. lock is the clause that locks the table too, or empty.
func ownSake(ctx context.Context, q querier, id storage.SakeTableID, record uint32, owner storage.ProfileID, lock string,
) (t sakeTable, r storage.SakeRow, size int, err error) {
	var b pgx.Batch
	found := false
	b.Queue(`SELECT `+sakeRowColumns+` FROM sake_records AS r WHERE id = $3
		AND table_no = (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2) FOR NO KEY UPDATE`,
		lookup(id.Game), lookup(storage.Fold(id.Name)), int64(record)).Query(func(rows pgx.Rows) error {
		columns := newSakeColumns()
		for rows.Next() {
			n, err := columns.scan(rows, &r, true)
			if err != nil {
				return err
			}
			found, size = true, sakeHead+n
		}
		return rows.Err()
	})
	queueSakeTable(&b, id, lock, &t) // after the record is locked: its columns are known now
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return t, r, 0, err
	}
	switch {
	case !t.live:
		return t, r, 0, storage.ErrNoTable
	case !found:
		return t, r, 0, storage.ErrNotFound
	case owner != 0 && r.Owner != owner:
		return t, r, 0, storage.ErrNotOwner
	}
	return t, r, size, nil
}

// UpdateSakeRecord is described in [storage.Sake].
func (s *Store) UpdateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, owner storage.ProfileID,
	fields []storage.SakeField, lim storage.SakeLimits,
) error {
	if err := errors.Join(table.Check(), storage.CheckSakeFields(fields)); err != nil {
		return err
	}
	now := time.Now().Unix()
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		t, row, old, err := ownSake(ctx, c, table, id, owner, "")
		if err != nil {
			return err
		}
		rec, err := row.Record(t.Columns)
		if err != nil {
			return err
		}
		rec.Merge(fields)
		columns, altered, err := t.align(rec.Fields, fields)
		if err != nil {
			return err
		}
		if altered { // others may have changed the columns too
			if t, columns, err = alignLocked(ctx, c, table, rec.Fields, fields); err != nil {
				return err
			}
		}
		value := storage.AppendSakeFields(nil, rec.Fields, columns)
		size := sakeHead + len(value)
		if err := checkSakeRecord(len(rec.Fields), size, &lim); err != nil {
			return err
		}
		grown := int64(size - old)
		var b pgx.Batch
		if altered {
			err = t.queueUpdate(&b, 0, grown, true)
		} else if grown != 0 {
			b.Queue(`UPDATE sake_tables SET bytes = bytes + $2 WHERE number = $1`, t.number, grown)
		}
		if err != nil {
			return err
		}
		var sums sakeSums
		queueSakeGrown(&b, &t, rec.Owner, grown, &sums)
		b.Queue(`UPDATE sake_records SET changed = $3, fields = $4 WHERE table_no = $1 AND id = $2`,
			t.number, int64(id), now, notNil(value))
		if err := c.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		return sums.check(0, 0, grown, &lim)
	})
	if err != nil {
		return fmt.Errorf("update SAKE record %d: %w", id, err)
	}
	return nil
}

// alignLocked is sakeTable.align for the present state of a table, which it locks.
func alignLocked(ctx context.Context, q querier, id storage.SakeTableID, fields, changed []storage.SakeField) (t sakeTable, columns []uint32, err error) {
	var b pgx.Batch
	queueSakeTable(&b, id, `FOR NO KEY UPDATE`, &t)
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return t, nil, err
	}
	columns, _, err = t.align(fields, changed)
	return t, columns, err
}

// RateSakeRecord is described in [storage.Sake].
func (s *Store) RateSakeRecord(ctx context.Context, table storage.SakeTableID, id uint32, rater storage.ProfileID, rating int,
) (sum storage.SakeRating, err error) {
	if rating < 0 || rating > math.MaxUint8 {
		return sum, fmt.Errorf("%w: a rating of %d", storage.ErrInvalid, rating)
	}
	var live, there, made bool
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		sum = storage.SakeRating{}
		// The record is locked first, so that it is not deleted in between.
		err := c.QueryRow(ctx, `WITH t AS (SELECT number FROM sake_tables WHERE game = $1 AND folded = $2 AND live),
			r AS (SELECT table_no, id FROM sake_records WHERE table_no = (SELECT number FROM t) AND id = $3 FOR NO KEY UPDATE),
			made AS (INSERT INTO sake_ratings (table_no, id, rater, rating) SELECT table_no, id, $4::bigint, $5::smallint FROM r
				ON CONFLICT DO NOTHING RETURNING table_no, id),
			done AS (UPDATE sake_records AS r SET ratings = r.ratings + 1, rating_sum = r.rating_sum + $5 FROM made
				WHERE r.table_no = made.table_no AND r.id = made.id RETURNING r.ratings, r.rating_sum)
			SELECT EXISTS (SELECT FROM t), EXISTS (SELECT FROM r), EXISTS (SELECT FROM done),
				coalesce((SELECT ratings FROM done), 0), coalesce((SELECT rating_sum FROM done), 0)`,
			lookup(table.Game), lookup(storage.Fold(table.Name)), int64(id), int64(rater), rating).Scan(&live, &there, &made, &sum.Ratings, &sum.Sum)
		switch {
		case err != nil:
			return err
		case !live:
			return storage.ErrNoTable
		case !there:
			return storage.ErrNotFound
		case !made:
			return storage.ErrTaken
		}
		return nil
	})
	if err != nil {
		return storage.SakeRating{}, fmt.Errorf("rate SAKE record %d: %w", id, err)
	}
	return sum, nil
}
