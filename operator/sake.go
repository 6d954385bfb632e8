package operator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// MaxSakeListed is how many SAKE records one call lists.
const MaxSakeListed = 100

// SakeQuery selects SAKE records of a table.
type SakeQuery struct {
	Game  string            `query:"game" arg:"GAME"`
	Table string            `query:"table" arg:"TABLE"`
	Owner storage.ProfileID `query:"owner" flag:"owner" doc:"only of the profile with this id"` // 0: of all profiles
	After uint32            `query:"after"`                                                     // only those with a higher id
	Limit int               `query:"limit" flag:"limit" default:"100" doc:"number of records"`  // 0, or more than MaxSakeListed: MaxSakeListed
}

// SakeTarget is a SAKE table, or one of its records.
type SakeTarget struct {
	Game  string `query:"game" arg:"GAME"`
	Table string `query:"table" arg:"TABLE"`
	ID    uint32 `query:"id" arg:"[ID]" doc:"the id of a record: 'respawnd sake show GAME TABLE' shows them"` // of the record; 0: the whole table
}

// SakeGame names the game of SAKE tables.
type SakeGame struct {
	Game string `query:"game" arg:"GAME"`
}

// ListSakeTables returns the tables of a game.
var ListSakeTables = New(Operation{
	Name: "sake tables", Route: "GET /sake/tables", What: "Show the tables of a game", About: noun.Stats,
}, func(ctx context.Context, l *Local, in SakeGame) ([]storage.SakeTable, error) {
	if in.Game == "" {
		return nil, fmt.Errorf("%w: the game is missing", ErrBadRequest)
	}
	list, err := storage.Collect(l.Store.SakeTables(ctx, storage.Fold(in.Game)))
	return append([]storage.SakeTable{}, list...), err // never null as JSON
})

// ListSakeRecords returns records of a table in the order of their ids. storage.ErrNoTable: there is no
// such table.
var ListSakeRecords = New(Operation{
	Name: "sake show", Route: "GET /sake/records", What: "Show records of a table", About: noun.Stats, AtMost: MaxSakeListed,
}, func(ctx context.Context, l *Local, q SakeQuery) ([]storage.SakeRecord, error) {
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
})

// DeleteSake deletes a record, or a table with all its records, and returns how many records there
// were. storage.ErrNotFound: there is none.
var DeleteSake = New(Operation{
	Name: "sake delete", Route: "DELETE /sake/records", What: "Delete a record, or a table with all its records", About: noun.Stats, Slow: true, Destroys: true,
}, func(ctx context.Context, l *Local, t SakeTarget) (Removed, error) {
	table := storage.SakeTableID{Game: storage.Fold(t.Game), Name: t.Table}
	subject := "table " + table.Name + " of " + table.Game
	if t.ID == 0 {
		n, err := l.Store.DeleteSakeTable(about(ctx, subject, ""), table)
		return Removed{n}, sakeError(table, err)
	}
	ctx = aboutID(ctx, t.ID, subject, "record "+strconv.FormatUint(uint64(t.ID), 10))
	return Removed{1}, sakeError(table, l.Store.DeleteSakeRecord(ctx, table, t.ID, 0))
})

func sakeError(t storage.SakeTableID, err error) error {
	return subject(err, "table %q of %q", t.Name, t.Game)
}
