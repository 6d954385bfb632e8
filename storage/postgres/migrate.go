package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrNewer means that a newer version of the program upgraded the database.
var ErrNewer = errors.New("upgraded by a newer version of respawnd")

//go:embed schema/*.sql
var schema embed.FS

// A migration is one file of the schema.
type migration struct {
	number int
	name   string // of the file
	sql    string
}

// migrations returns the files of the schema in the order of their numbers. It
// panics on a file with a bad name, which a test would find.
func migrations() []migration {
	var all []migration
	names, err := fs.Glob(schema, "schema/*.sql") // sorted
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		sql, err := schema.ReadFile(name)
		if err != nil {
			panic(err)
		}
		base := path.Base(name)
		number, _, _ := strings.Cut(base, "_")
		n, err := strconv.Atoi(number)
		if err != nil || n <= 0 || len(number) != 3 {
			panic("migration " + base + " is not named NNN_topic.sql")
		}
		all = append(all, migration{n, base, string(sql)})
	}
	return all
}

// Schema returns the number of the last migration that this program knows. A newer one
// may have upgraded the database since.
func (*Store) Schema() int {
	all := migrations()
	return all[len(all)-1].number
}

// lockUpgrade is the number of the advisory lock of upgrades: "respawnd".
const lockUpgrade = 0x7265737061776e64

// idleUpgrade replaces idleStep in upgrades: a machine that is busy with the start of
// much else must not undo its own, and a node that is cut off in one may hold up others
// for longer.
const idleUpgrade = time.Minute

// upgrade applies the migrations that the database lacks, all or none.
func (s *Store) upgrade(ctx context.Context, steps []migration) error {
	var applied []migration
	err := s.step(ctx, false, func(_ context.Context, conn *pgxpool.Conn) error {
		// Without the deadline of a step: an upgrade may take long, and another
		// node's too.
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
			applied, err = applyMissing(ctx, tx, steps)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, m := range applied {
		s.log.Info().Str("migration", m.name).Msg("database upgraded")
	}
	return nil
}

// applyMissing applies the migrations that the database lacks and returns them.
func applyMissing(ctx context.Context, tx pgx.Tx, steps []migration) (applied []migration, err error) {
	for _, sql := range []string{
		`SET LOCAL statement_timeout = 0`,
		`SET LOCAL lock_timeout = 0`,
		`SET LOCAL idle_in_transaction_session_timeout = ` + milliseconds(idleUpgrade),
		fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, lockUpgrade),
		`CREATE TABLE IF NOT EXISTS schema_migrations (
			number int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`,
	} {
		if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return nil, err
		}
	}
	done, err := appliedMigrations(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, m := range steps {
		if done[m.number] {
			delete(done, m.number)
			continue
		}
		if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return nil, fmt.Errorf("migration %s: %w", m.name, err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO schema_migrations (number, name) VALUES ($1, $2)`, m.number, m.name); err != nil {
			return nil, err
		}
		applied = append(applied, m)
	}
	for number := range done {
		return nil, fmt.Errorf("%w: it has migration %03d, which this version does not know; update this node", ErrNewer, number)
	}
	return applied, nil
}

// appliedMigrations returns the numbers of the migrations that the database has.
func appliedMigrations(ctx context.Context, q querier) (map[int]bool, error) {
	rows, err := q.Query(ctx, `SELECT number FROM schema_migrations`)
	if err != nil {
		return nil, err
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return nil, err
	}
	done := make(map[int]bool, len(numbers))
	for _, n := range numbers {
		done[n] = true
	}
	return done, nil
}
