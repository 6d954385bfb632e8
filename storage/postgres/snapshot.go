package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// asOf is a moment at which a Store reads, see Store.Snapshot.
type asOf struct {
	id     string        // of PostgreSQL's snapshot
	holder *pgxpool.Conn // whose transaction keeps it
}

// Snapshot returns a store that reads the database as it is now, for a copy while
// others change it. It must be closed before this one, and cannot be written.
func (s *Store) Snapshot(ctx context.Context) (*Store, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	var id string
	for _, sql := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`, `SET LOCAL idle_in_transaction_session_timeout = 0`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			conn.Release()
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	if err := conn.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&id); err != nil {
		conn.Release()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	at := &Store{
		pool: s.pool, node: s.node, timeout: s.timeout, log: s.log, metrics: s.metrics,
		saving: make(chan struct{}, 1), asOf: &asOf{id, conn},
	}
	at.maxAudit.Store(s.maxAudit.Load())
	return at, nil
}

// enter begins a transaction of the snapshot on a connection.
func (a *asOf) enter(ctx context.Context, conn *pgxpool.Conn) error {
	return exec(ctx, conn, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '`+a.id+`'`)
}

// leave ends it. The pool closes a connection on which that fails.
func (a *asOf) leave(ctx context.Context, conn *pgxpool.Conn) { _ = exec(ctx, conn, `ROLLBACK`) }

// exec runs statements in one round trip.
func exec(ctx context.Context, conn *pgxpool.Conn, sql string) error {
	_, err := conn.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// close ends the snapshot.
func (a *asOf) close() {
	a.leave(context.Background(), a.holder)
	a.holder.Release()
}
