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
	Pending int    // migrations that the next start applies
}

// Check connects to the database and changes nothing. It returns an error, as Open
// would, for a server that does not answer, that is too old or has another encoding,
// for a database of a newer version of the program, and for missing rights.
func Check(ctx context.Context, url string, opt Options) (r Report, err error) {
	opt.MaxConns = 1
	config, err := configure(url, opt)
	if err != nil {
		return r, err
	}
	s := &Store{log: opt.Log, metrics: newMetrics(nil), timeout: opt.StatementTimeout, slack: netSlack}
	if s.timeout <= 0 {
		s.timeout = DefaultStatementTimeout
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return r, fmt.Errorf("database: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err = s.checkServer(ctx); err == nil {
		r, err = s.inspect(ctx, migrations())
	}
	if err != nil {
		err = fmt.Errorf("database %s: %w", describe(config.ConnConfig), err)
	}
	return r, err
}

// inspect compares the database with the migrations and the rights of its user.
func (s *Store) inspect(ctx context.Context, steps []migration) (r Report, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		r = Report{}
		var create bool
		var missing []string
		err := q.QueryRow(ctx, `SELECT current_setting('server_version'), to_regclass('schema_migrations') IS NULL,
			coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`).Scan(&r.Server, &r.Empty, &create)
		if err != nil {
			return err
		}
		r.Pending = len(steps)
		if !r.Empty {
			// Before its content: reading that takes the right to it.
			rows, err := q.Query(ctx, `SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
				AND NOT has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE') ORDER BY relname`)
			if err != nil {
				return err
			}
			if missing, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("%w: it cannot read and write %s", ErrRights, strings.Join(missing, ", "))
		}
		if !r.Empty {
			done, err := appliedMigrations(ctx, q)
			if err != nil {
				return err
			}
			for _, m := range steps {
				if done[m.number] {
					r.Pending--
					delete(done, m.number)
				}
			}
			if len(done) > 0 {
				return ErrNewer
			}
		}
		if r.Pending > 0 && !create {
			return fmt.Errorf("%w: it cannot create tables; run as an administrator: GRANT CREATE ON SCHEMA public TO its user", ErrRights)
		}
		return nil
	})
	return r, err
}

// Daemons returns the daemons that are connected to the database, as their names and
// addresses.
func (s *Store) Daemons(ctx context.Context) (list []string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT DISTINCT application_name || coalesce(' at ' || host(client_addr), '') FROM pg_stat_activity
			WHERE datname = current_database() AND (application_name = $1 OR starts_with(application_name, $1 || '/')) ORDER BY 1`, daemonName)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return list, err
}
