package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage"
)

const (
	// maxTries is how often a step runs until its failure is reported.
	maxTries = 10
	// firstPause is the longest pause before the second try; it doubles with
	// each further one, up to lastPause.
	firstPause = 2 * time.Millisecond
	lastPause  = 64 * time.Millisecond
)

// querier runs statements on one connection, inside of a transaction or not.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// A change is a step that writes. It sets the fields for the audit entry of its
// context.
type change struct {
	querier
	id   uint32 // of the record that the step made; 0: that of the entry
	idle bool   // nothing was changed: no entry is stored
}

// read runs fn on a connection. Each statement of fn sees a snapshot of its own,
// see snapshot. fn may run more than once; it uses the context that it is given.
func (s *Store) read(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	return s.step(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error { return fn(ctx, conn) })
}

// snapshot is read for several statements that must see the same state.
func (s *Store) snapshot(ctx context.Context, fn func(ctx context.Context, q querier) error) error {
	return s.step(ctx, true, func(ctx context.Context, conn *pgxpool.Conn) error {
		opt := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, conn, opt, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// write runs fn in a transaction of isolation READ COMMITTED, which is committed
// if fn returns nil and durable when write returns nil. It includes the audit
// entry of ctx, unless fn sets idle. fn may run more than once; it must reset its
// results, and uses the context that it is given.
func (s *Store) write(ctx context.Context, fn func(ctx context.Context, c *change) error) error {
	return s.observed(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			c := &change{querier: tx}
			if err := fn(ctx, c); err != nil {
				return err
			}
			return s.note(ctx, c)
		})
	})
}

// once is write for an fn that sends a single statement or a single batch and
// changes nothing if it then returns an error. PostgreSQL runs it as a
// transaction by itself, in one round trip.
func (s *Store) once(ctx context.Context, fn func(ctx context.Context, c *change) error) error {
	if _, noted := storage.AuditOf(ctx); noted {
		return s.write(ctx, fn)
	}
	return s.observed(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		return fn(ctx, &change{querier: conn})
	})
}

// observed is step for a change.
func (s *Store) observed(ctx context.Context, fn func(context.Context, *pgxpool.Conn) error) error {
	return s.step(ctx, false, func(ctx context.Context, conn *pgxpool.Conn) error {
		n := s.writes.begin()
		err := fn(ctx, conn)
		s.writes.end(n, unavailable(conn, err))
		return err
	})
}

// step runs fn on a connection until it succeeds, its error is none that a
// repetition may cure, or maxTries is reached. After the loss of a connection it
// is repeated once if it only reads, or if nothing was sent.
func (s *Store) step(ctx context.Context, reads bool, fn func(context.Context, *pgxpool.Conn) error) error {
	losses := 0
	for try := 1; ; try++ {
		err := s.try(ctx, fn)
		if err == nil {
			return nil
		}
		reason := retryReason(err)
		if lost(err) {
			s.pool.Reset() // the other connections are probably lost too
			if losses++; losses == 1 && (reads || pgconn.SafeToRetry(err)) {
				reason = "connection"
			}
		}
		if reason == "" || try == maxTries {
			return err
		}
		s.metrics.retries.WithLabelValues(reason).Inc()
		if reason != "connection" {
			pause := min(firstPause<<(try-1), lastPause)
			time.Sleep(time.Duration(rand.Int64N(int64(pause)) + 1)) // jitter
		}
	}
}

// try runs fn once, on a connection of the pool and with a deadline of its own.
func (s *Store) try(ctx context.Context, fn func(context.Context, *pgxpool.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer release(conn)
	begun, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout+s.slack)
	defer cancel()
	if s.asOf != nil {
		if err := s.asOf.enter(begun, conn); err != nil {
			return s.result(conn, err)
		}
		defer s.asOf.leave(begun, conn)
	}
	return s.result(conn, fn(begun, conn))
}

// result turns the result of a step into that of a method.
func (s *Store) result(conn *pgxpool.Conn, err error) error {
	if down := unavailable(conn, err); down != nil {
		return s.count(down)
	}
	return explain(err)
}

// count counts an unavailableError and returns it.
func (s *Store) count(err error) error {
	if e, ok := errors.AsType[*unavailableError](err); ok {
		s.metrics.failures.WithLabelValues(e.kind).Inc()
	}
	return err
}

// release returns a connection to the pool. One that a failure closed leaves it at
// once: pgx takes up to 15 seconds to close it, and the pool may have no other.
func release(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		conn.Hijack()
		return
	}
	conn.Release()
}

// acquire waits for a connection, at most as long as a statement may take.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if s.closed.Load() {
		return nil, storage.ErrClosed
	}
	wait, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.pool.Acquire(wait)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.closed.Load():
		return nil, storage.ErrClosed
	case wait.Err() != nil:
		return nil, s.count(&unavailableError{kindNone, fmt.Errorf("no connection became free within %v", s.timeout)})
	}
	return nil, s.count(&unavailableError{kindConnect, err})
}
