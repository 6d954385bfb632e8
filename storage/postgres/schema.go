package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage/engine"
)

// The errors of databases that this version does not use.
var (
	// ErrNewer means that a newer version of the program upgraded the database.
	ErrNewer = errors.New("upgraded by a newer version of respawnd")
	// ErrLayout means that the database has the tables of an older version of the
	// program, which a copy replaces.
	ErrLayout = errors.New(`its tables are those of an earlier build of respawnd: with that build, copy it to a folder ("respawnd storage copy --from postgres --to bolt:FOLDER"); then, with this one, copy the folder into an empty database`)
)

// format is the number of the tables below. It rises when they change.
const format = 1

// createTables creates the tables. One table has all entries, so its share of dead ones is
// small when those of a busy kind are many. Values are not compressed: most are too short, and the
// large ones are files that are compressed.
const createTables = `
CREATE TABLE entry_settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE entry_tables (name text COLLATE "C" PRIMARY KEY, number smallint NOT NULL UNIQUE);
CREATE TABLE entries (t smallint, k bytea, r bigint NOT NULL, v bytea NOT NULL, PRIMARY KEY (t, k))
	WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE entries ALTER v SET STORAGE EXTERNAL;
INSERT INTO entry_settings (name, value) VALUES ('format', '1'), ('layout', '0');`

// lockUpgrade is the number of the advisory lock of upgrades: "respawnd".
const lockUpgrade = 0x7265737061776e64

// Schema returns the number of the layout of the records that this program knows.
func (e *Engine) Schema() int { return int(e.layout.Version) }

// prepare brings the tables to the present layout.
func (e *Engine) prepare(ctx context.Context) error {
	return e.exclusive(ctx, func(ctx context.Context, tx pgx.Tx) error {
		state, err := inspect(ctx, tx)
		if err != nil {
			return err
		}
		if state.empty {
			if _, err := tx.Exec(ctx, createTables, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
		}
		if err := state.usable(&e.layout); err != nil {
			return err
		}
		if state.layout < e.layout.Version {
			_, err = tx.Exec(ctx, `UPDATE entry_settings SET value = $1 WHERE name = 'layout'`, strconv.FormatUint(e.layout.Version, 10))
		}
		return errors.Join(err, e.register(ctx, tx, e.layout.Tables))
	})
}

// exclusive runs a transaction that no other node runs at the same time. It has no
// deadline: another node's may take long.
func (e *Engine) exclusive(ctx context.Context, fn func(context.Context, pgx.Tx) error) error {
	return e.repeat(ctx, &attempt{}, func(_ context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
				SET LOCAL idle_in_transaction_session_timeout = 60000; SELECT pg_advisory_xact_lock(%d)`, lockUpgrade), pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				return err
			}
			return fn(ctx, tx)
		})
	})
}

// A state is what a database has.
type state struct {
	empty  bool   // none of the tables
	old    bool   // the tables of an older version
	format uint64 // of the tables
	layout uint64 // of the records
}

// querier runs statements on one connection, inside of a transaction or not.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// inspect returns the state of a database.
func inspect(ctx context.Context, q querier) (s state, err error) {
	err = q.QueryRow(ctx, `SELECT to_regclass('entries') IS NULL, to_regclass('entries') IS NULL AND to_regclass('schema_migrations') IS NOT NULL`).
		Scan(&s.empty, &s.old)
	if err != nil || s.old {
		return s, errors.Join(err, s.usable(&engine.Layout{}))
	}
	if s.empty {
		s.format = format
		return s, nil
	}
	err = q.QueryRow(ctx, `SELECT (SELECT value FROM entry_settings WHERE name = 'format')::bigint,
		(SELECT value FROM entry_settings WHERE name = 'layout')::bigint`).Scan(&s.format, &s.layout)
	return s, err
}

// usable returns why this version of the program does not use a database.
func (s *state) usable(layout *engine.Layout) error {
	switch {
	case s.old:
		return ErrLayout
	case s.format > format || s.layout > layout.Version:
		return fmt.Errorf("%w: it has layout %d, which this version does not know; update this node", ErrNewer, s.layout)
	}
	return nil
}

// register gives numbers and sequences to tables that have none, and reads all.
func (e *Engine) register(ctx context.Context, tx pgx.Tx, tables []engine.Table) error {
	known, err := tableNumbers(ctx, tx)
	if err != nil {
		return err
	}
	last := int16(0)
	for _, n := range known {
		last = max(last, n)
	}
	for _, t := range tables {
		if _, ok := known[t]; ok {
			continue
		}
		last++
		known[t] = last
		if _, err := tx.Exec(ctx, `INSERT INTO entry_tables (name, number) VALUES ($1, $2)`, string(t), last); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE SEQUENCE `+sequence(last), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	for t, n := range known {
		e.tables.Store(t, n)
	}
	return nil
}

// tableNumbers returns the numbers of all tables.
func tableNumbers(ctx context.Context, q querier) (map[engine.Table]int16, error) {
	rows, err := q.Query(ctx, `SELECT name, number FROM entry_tables`)
	if err != nil {
		return nil, err
	}
	known := make(map[engine.Table]int16)
	var name string
	var n int16
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		known[engine.Table(name)] = n
		return nil
	})
	return known, err
}

// add registers a table that the layout does not have.
func (e *Engine) add(ctx context.Context, t engine.Table) error {
	return e.exclusive(ctx, func(ctx context.Context, tx pgx.Tx) error { return e.register(ctx, tx, []engine.Table{t}) })
}
