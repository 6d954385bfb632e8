package bolt

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/respawnd/respawnd/storage/engine"
)

// OnWrite is described in [engine.Writes]. A group of changes is one write.
func (e *Engine) OnWrite(observe func(took time.Duration, err error)) { e.writes.OnWrite(observe) }

// LastWrite returns the time and the error of the last write to the disk. The
// time is zero if nothing was written since Open.
func (e *Engine) LastWrite() (time.Time, error) {
	if err := e.check.err(); isDamage(err) {
		return time.Now(), err
	}
	if broken := e.broken.Load(); broken != nil {
		return time.Now(), *broken
	}
	return e.writes.LastWrite()
}

// WriteUnderWay returns the duration of the current write; 0: there is none.
// Waiting writes do not count.
func (e *Engine) WriteUnderWay() time.Duration { return e.writes.WriteUnderWay() }

// Probe writes a meaningless value and returns nil when it is on the disk.
func (e *Engine) Probe(ctx context.Context) error {
	return e.change(ctx, func(c *change) error {
		c.wrote = true
		now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		return c.tx.Bucket([]byte(bucketMeta)).Put([]byte(metaProbe), engine.Seal([]byte(metaProbe), now))
	})
}
