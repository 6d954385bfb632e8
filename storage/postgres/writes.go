package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// OnWrite is described in [engine.Writes]. Each change is a write.
func (e *Engine) OnWrite(observe func(took time.Duration, err error)) { e.writes.OnWrite(observe) }

// LastWrite returns the time and the error of the last change that reached the
// database. The time is zero if there was none since Open.
func (e *Engine) LastWrite() (time.Time, error) { return e.writes.LastWrite() }

// WriteUnderWay returns the duration of the change that has been running
// longest; 0: none is.
func (e *Engine) WriteUnderWay() time.Duration { return e.writes.WriteUnderWay() }

// Probe writes a meaningless value and returns nil when it is durable.
func (e *Engine) Probe(ctx context.Context) error {
	return e.repeat(ctx, &attempt{}, func(ctx context.Context, conn *pgxpool.Conn) error {
		n := e.writes.Begin()
		_, err := conn.Exec(ctx, `INSERT INTO entry_settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, "probe/"+e.node, time.Now().UTC().Format(time.RFC3339Nano))
		e.writes.End(n, unavailable(conn, err))
		return err
	})
}
