package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrRights means that the user of the URL lacks rights in the database.
var ErrRights = errors.New("its user lacks rights")

// Report is the result of Check.
type Report struct {
	Server  string // version of PostgreSQL
	Empty   bool   // it has no tables of respawnd yet
	Pending int    // changes of the layout that the next start makes
}

// Check connects to the database and changes nothing. It returns an error, as Open
// would, for a server that does not answer, that is too old or has another encoding,
// for a database of a newer or much older version of the program, and for missing rights.
func Check(ctx context.Context, url string, opt Options) (r Report, err error) {
	opt.MaxConns, opt.Registerer = 1, nil
	e, err := connect(ctx, url, opt, func(e *Engine) error {
		return e.repeat(ctx, &attempt{reads: true}, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
			r, err = e.report(ctx, conn)
			return err
		})
	})
	if err == nil {
		err = e.Close()
	}
	return r, err
}

// report compares the database with the layout and the rights of its user.
func (e *Engine) report(ctx context.Context, q querier) (r Report, err error) {
	var create, old bool
	err = q.QueryRow(ctx, `SELECT current_setting('server_version'), to_regclass('entries') IS NULL,
		to_regclass('entries') IS NULL AND to_regclass('schema_migrations') IS NOT NULL,
		coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`).Scan(&r.Server, &r.Empty, &old, &create)
	switch {
	case err != nil:
		return r, err
	case old:
		return r, ErrLayout
	}
	missing, err := withoutRights(ctx, q) // before the content: reading that takes the right to it
	if err != nil {
		return r, err
	}
	if len(missing) > 0 {
		return r, fmt.Errorf("%w: it cannot read and write %s", ErrRights, strings.Join(missing, ", "))
	}
	if r.Pending, err = e.pending(ctx, q); err != nil {
		return r, err
	}
	if r.Pending > 0 && !create {
		return r, fmt.Errorf("%w: it cannot create tables; run as an administrator: GRANT CREATE ON SCHEMA public TO its user", ErrRights)
	}
	return r, nil
}

// withoutRights returns the tables and sequences that the user cannot read and write.
func withoutRights(ctx context.Context, q querier) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		AND (relname IN ('entries', 'entry_tables', 'entry_settings') AND NOT has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE')
			OR relkind = 'S' AND starts_with(relname, 'numbers_') AND NOT has_sequence_privilege(oid, 'USAGE, SELECT, UPDATE'))
		ORDER BY relname`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// pending returns how many changes the next start makes.
func (e *Engine) pending(ctx context.Context, q querier) (n int, err error) {
	s, err := inspect(ctx, q)
	if err == nil {
		err = s.usable(&e.layout)
	}
	if err != nil {
		return 0, err
	}
	if s.empty {
		return 1 + len(e.layout.Tables), nil
	}
	if s.layout < e.layout.Version {
		n++
	}
	known, err := tableNumbers(ctx, q)
	for _, t := range e.layout.Tables {
		if _, ok := known[t]; !ok {
			n++
		}
	}
	return n, err
}

// Daemons returns the daemons that are connected to the database, as their names and
// addresses.
func (e *Engine) Daemons(ctx context.Context) (list []string, err error) {
	err = e.repeat(ctx, &attempt{reads: true}, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, `SELECT DISTINCT application_name || coalesce(' at ' || host(client_addr), '') FROM pg_stat_activity
			WHERE datname = current_database() AND (application_name = $1 OR starts_with(application_name, $1 || '/')) ORDER BY 1`, daemonName)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return list, err
}
