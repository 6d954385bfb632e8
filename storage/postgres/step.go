package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/respawnd/respawnd/storage/engine"
)

const (
	// lockAfter is how often a step is disturbed until it takes its locks first. It is
	// faster than a second try: 16 workers change one entry 690 times a second, not 380.
	lockAfter = 1
	// firstPause is the longest pause before the second try; it doubles with
	// each further one, up to lastPause.
	firstPause = 2 * time.Millisecond
	lastPause  = 64 * time.Millisecond
)

// An attempt is what the runs of a step know of earlier ones.
type attempt struct {
	reads     bool // nothing is changed: a lost connection does not matter
	sent      bool // the changes of this run were sent
	losses    int
	disturbed int // how often others changed what it read

	coarse bool                        // it locks whole tables: the server has no memory for more locks
	locks  lockSet                     // of earlier runs
	keys   []place                     // that the last run read
	need   func(context.Context) error // what must be done before the next run
}

// View implements [engine.Engine].
func (e *Engine) View(ctx context.Context, read func(engine.Reader) error) error {
	a := &attempt{reads: true}
	return e.repeat(ctx, a, func(ctx context.Context, conn *pgxpool.Conn) error {
		x := newTx(ctx, e, conn, a)
		return x.result(read(x))
	})
}

// errReadOnly means that a snapshot was to be changed.
var errReadOnly = errors.New("a snapshot of the database cannot be changed")

// Update implements [engine.Engine].
func (e *Engine) Update(ctx context.Context, change func(engine.Tx) error) error {
	if e.asOf != nil {
		return errReadOnly
	}
	a := &attempt{}
	return e.repeat(ctx, a, func(ctx context.Context, conn *pgxpool.Conn) error {
		n := e.writes.Begin()
		x := newTx(ctx, e, conn, a)
		err := x.update(change)
		if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == codeMemory && !a.coarse {
			a.coarse, a.locks, err = true, nil, errLocks
		}
		again := retryReason(err) != ""
		if again {
			a.remember(x)
		}
		down := unavailable(conn, err)
		if down != nil || a.sent && !again {
			e.writes.End(n, down)
		} else {
			e.writes.Drop(n)
		}
		return err
	})
}

// update runs a step that may change something once.
func (x *tx) update(change func(engine.Tx) error) error {
	if x.at.disturbed >= lockAfter {
		if err := x.lockFirst(); err != nil {
			return err
		}
	}
	err := x.result(change(x))
	switch {
	case x.err != nil:
		return err
	case err == nil && len(x.writes) > 0:
		return x.commit()
	case x.held != nil: // it did not read as of one moment
		return errors.Join(x.compare(), err)
	}
	return err
}

// result is the error of a run: a failure of the database counts, whatever the function
// made of it.
func (x *tx) result(err error) error {
	if x.err != nil {
		return x.err
	}
	return err
}

// repeat runs fn on a connection until it succeeds, its error is none that a repetition
// may cure, or the time of a step is over. After the loss of a connection it is repeated
// once if it only reads, or if no changes were sent.
func (e *Engine) repeat(ctx context.Context, a *attempt, fn func(context.Context, *pgxpool.Conn) error) error {
	until := time.Now().Add(e.timeout)
	var disturbed error // why the last run was repeated
	for try := 1; ; try++ {
		a.sent, a.need = false, nil
		err := e.try(ctx, until, fn)
		if err == nil {
			return nil
		}
		if errors.Is(err, errNeed) && a.need != nil {
			if err := a.need(ctx); err != nil {
				return err
			}
			continue
		}
		if down, ok := errors.AsType[*unavailableError](err); ok && down.kind == kindNone && disturbed != nil {
			return e.count(&unavailableError{kindContended, disturbed}) // its time was over
		}
		reason := a.reason(err)
		if lost(err) && !silent(err) {
			e.pool.Reset() // the other connections are probably lost too
		}
		if reason == "" {
			return err
		}
		if reason == "serialization" || reason == "deadlock" {
			pause := min(firstPause<<min(try-1, 10), lastPause)
			time.Sleep(time.Duration(rand.Int64N(int64(pause)) + 1)) // jitter
		}
		if time.Now().After(until) {
			return e.count(&unavailableError{kindContended, err})
		}
		if disturbed = err; reason == "connection" {
			disturbed = nil
		}
		e.metrics.retries.WithLabelValues(reason).Inc()
	}
}

// reason returns why a run that failed is repeated, "": it is not.
func (a *attempt) reason(err error) string {
	if lost(err) {
		if a.losses++; a.losses == 1 && (a.reads || !a.sent || pgconn.SafeToRetry(err)) {
			return "connection"
		}
		return ""
	}
	reason := retryReason(err)
	if reason == "changed" {
		a.disturbed++
	}
	return reason
}

// try runs fn once, on a connection of the pool. It ends in time whatever its context says.
func (e *Engine) try(ctx context.Context, until time.Time, fn func(context.Context, *pgxpool.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := e.acquire(ctx, until)
	if err != nil {
		return err
	}
	begun, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	defer cancel()
	defer e.release(conn)
	if e.asOf != nil {
		if err := e.asOf.enter(begun, conn); err != nil {
			return e.result(conn, err)
		}
	}
	return e.result(conn, fn(begun, conn))
}

// result turns the result of a run into that of a step.
func (e *Engine) result(conn *pgxpool.Conn, err error) error {
	if down := unavailable(conn, err); down != nil {
		err = e.count(down)
	}
	e.noteResult(err)
	return err
}

// count counts an unavailableError and returns it.
func (e *Engine) count(err error) error {
	if down, ok := errors.AsType[*unavailableError](err); ok {
		e.metrics.failures.WithLabelValues(down.kind).Inc()
	}
	return err
}

// idle is the state of a connection without a transaction.
const idle = 'I'

// release returns a connection to the pool. A transaction, which only read, is ended
// without the caller. A connection that a failure closed leaves the pool at once: pgx takes
// up to 15 seconds to close it, and the pool may have no other.
func (e *Engine) release(conn *pgxpool.Conn) {
	switch {
	case conn.Conn().IsClosed():
		conn.Hijack()
	case conn.Conn().PgConn().TxStatus() == idle:
		conn.Release()
	default:
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
			defer cancel()
			e.metrics.statements.Inc()
			_ = rollback(ctx, conn)
			if conn.Conn().IsClosed() {
				conn.Hijack()
				return
			}
			conn.Release()
		}()
	}
}

func rollback(ctx context.Context, conn *pgxpool.Conn) error { return exec(ctx, conn, `ROLLBACK`) }

// exec runs statements in one round trip.
func exec(ctx context.Context, conn *pgxpool.Conn, sql string) error {
	_, err := conn.Conn().PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// acquire waits for a connection until a time. While the server is gone it does not wait.
func (e *Engine) acquire(ctx context.Context, until time.Time) (*pgxpool.Conn, error) {
	if e.closed.Load() {
		return nil, engine.ErrClosed
	}
	if gone := e.gone.refusal(); gone != nil {
		return nil, e.count(gone)
	}
	wait, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := e.pool.Acquire(wait)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case e.closed.Load():
		return nil, engine.ErrClosed
	case wait.Err() != nil:
		err = &unavailableError{kindNone, fmt.Errorf("no connection became free within %v", e.timeout)}
	default:
		err = &unavailableError{kindConnect, err}
	}
	e.noteResult(err)
	return nil, e.count(err)
}
