package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/respawnd/respawnd/storage/engine"
)

// bulkBytes is the size of the entries that Bulk sends together.
const bulkBytes = 4 << 20

// ErrThere means that Bulk was to store a key that a table has.
var ErrThere = errors.New("the key is there already")

// Bulk stores many entries faster than steps do, all or none. It is for copies: nothing
// else may use the database meanwhile. A key that is there fails it with ErrThere. fill
// may use the slices that it gives to put again.
func (e *Engine) Bulk(ctx context.Context, fill func(put func(t engine.Table, key, value []byte) error) error) error {
	conn, err := e.acquire(ctx, time.Now().Add(e.timeout))
	if err != nil {
		return err
	}
	defer e.release(conn)
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{}, func(tx pgx.Tx) error {
		// Between two parts it waits for what is read from elsewhere.
		if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0`, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		b := &bulk{ctx: ctx, eng: e, tx: tx}
		if err := fill(b.put); err != nil {
			return err
		}
		return b.send()
	})
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == codeUnique {
		err = fmt.Errorf("%w: %s", ErrThere, failed.Detail)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return e.result(conn, err)
}

// bulk collects entries.
type bulk struct {
	ctx  context.Context
	eng  *Engine
	tx   pgx.Tx
	rows [][]any
	size int
}

func (b *bulk) put(t engine.Table, key, value []byte) error {
	table, ok := b.eng.tables.Load(t)
	if !ok {
		return fmt.Errorf("the layout has no table %q", t)
	}
	b.rows = append(b.rows, []any{table, append([]byte{}, key...), newRev(), append([]byte{}, value...)})
	if b.size += len(key) + len(value); b.size < bulkBytes {
		return nil
	}
	return b.send()
}

// send stores what was collected.
func (b *bulk) send() error {
	_, err := b.tx.CopyFrom(b.ctx, pgx.Identifier{"entries"}, []string{"t", "k", "r", "v"}, pgx.CopyFromRows(b.rows))
	b.rows, b.size = b.rows[:0], 0
	return err
}
