package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// asOf is a moment at which an Engine reads, see Engine.Snapshot.
type asOf struct {
	id     string        // of PostgreSQL's snapshot
	holder *pgxpool.Conn // whose transaction keeps it
}

// Snapshot returns an engine that reads the database as it is now, for a copy while
// others change it. It must be closed before this one, and cannot be written. Numbers are
// those of the present.
func (e *Engine) Snapshot(ctx context.Context) (*Engine, error) {
	at, err := e.hold(ctx)
	if lost(err) {
		e.pool.Reset()
		at, err = e.hold(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return &Engine{
		pool: e.pool, node: e.node, timeout: e.timeout, gone: e.gone, log: e.log, metrics: e.metrics, layout: e.layout,
		strict: e.strict, tables: e.tables, numbers: e.numbers, asOf: at,
	}, nil
}

// hold begins a transaction that keeps a snapshot.
func (e *Engine) hold(ctx context.Context) (*asOf, error) {
	conn, err := e.acquire(ctx, time.Now().Add(e.timeout))
	if err != nil {
		return nil, err
	}
	at := &asOf{holder: conn}
	err = exec(ctx, conn, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0`)
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&at.id)
	}
	if err != nil {
		err = e.result(conn, err)
		e.release(conn)
		return nil, err
	}
	return at, nil
}

// enter begins a transaction of the snapshot on a connection. Its release ends it.
func (a *asOf) enter(ctx context.Context, conn *pgxpool.Conn) error {
	return exec(ctx, conn, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '`+a.id+`'`)
}

// close ends the snapshot.
func (a *asOf) close() {
	_ = rollback(context.Background(), a.holder)
	a.holder.Release()
}
