package operator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/storage"
)

// MaxSakeListed is how many SAKE records one call lists.
const MaxSakeListed = 100

// SakeQuery selects SAKE records of a table.
type SakeQuery struct {
	Game  string
	Table string
	Owner storage.ProfileID // 0: of all profiles
	After uint32            // only those with a higher id
	Limit int               // 0, or more than MaxSakeListed: MaxSakeListed
}

// SakeTarget is a SAKE table, or one of its records.
type SakeTarget struct {
	Game  string
	Table string
	ID    uint32 // of the record; 0: the whole table
}

// SakeOperator is the part of Operator about the records that games store.
type SakeOperator interface {
	// SakeTables returns the tables of a game.
	SakeTables(ctx context.Context, game string) ([]storage.SakeTable, error)
	// SakeRecords returns records of a table in the order of their ids.
	// storage.ErrNoTable: there is no such table.
	SakeRecords(ctx context.Context, q SakeQuery) ([]storage.SakeRecord, error)
	// DeleteSake deletes a record, or a table with all its records, and returns how
	// many records there were. storage.ErrNotFound: there is none.
	DeleteSake(ctx context.Context, t SakeTarget) (int, error)
}

// SakeTables implements Operator.
func (l *Local) SakeTables(ctx context.Context, game string) ([]storage.SakeTable, error) {
	list := []storage.SakeTable{} // never null as JSON
	if game == "" {
		return nil, fmt.Errorf("%w: the game is missing", ErrBadRequest)
	}
	for t, err := range l.Store.SakeTables(ctx, storage.Fold(game)) {
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// SakeRecords implements Operator.
func (l *Local) SakeRecords(ctx context.Context, q SakeQuery) ([]storage.SakeRecord, error) {
	table := storage.SakeTableID{Game: storage.Fold(q.Game), Name: q.Table}
	limit := q.Limit
	if limit <= 0 || limit > MaxSakeListed {
		limit = MaxSakeListed
	}
	scan := storage.SakeScan{First: q.After + 1}
	if q.Owner != 0 {
		scan.Owners = []storage.ProfileID{q.Owner}
	}
	var ids []uint32
	err := l.Store.ScanSake(ctx, table, scan, func(r *storage.SakeRow) bool {
		if r.ID > q.After {
			ids = append(ids, r.ID)
		}
		return len(ids) < limit
	})
	if err != nil {
		return nil, sakeError(table, err)
	}
	list, err := l.Store.SakeRecords(ctx, table, ids)
	return append([]storage.SakeRecord{}, list...), sakeError(table, err)
}

// DeleteSake implements Operator.
func (l *Local) DeleteSake(ctx context.Context, t SakeTarget) (int, error) {
	table := storage.SakeTableID{Game: storage.Fold(t.Game), Name: t.Table}
	subject := "table " + table.Name + " of " + table.Game
	if t.ID == 0 {
		n, err := l.Store.DeleteSakeTable(noted(ctx, actSakeDelete, subject, ""), table)
		return n, sakeError(table, err)
	}
	ctx = notedID(ctx, actSakeDelete, t.ID, subject, "record "+strconv.FormatUint(uint64(t.ID), 10))
	if err := l.Store.DeleteSakeRecord(ctx, table, t.ID, 0); err != nil {
		return 0, sakeError(table, err)
	}
	return 1, nil
}

// sakeError says which table an error is about.
func sakeError(t storage.SakeTableID, err error) error {
	if err != nil {
		return fmt.Errorf("table %q of %q: %w", t.Name, t.Game, err)
	}
	return nil
}
