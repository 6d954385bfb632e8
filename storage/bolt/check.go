package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// checkedAtOpen is the size in bytes of the largest file that Open checks as a
// whole even with Options.CheckLater: that takes about a tenth of a second.
const checkedAtOpen = 64 << 20

// checkDelay is how long after Open the rest of a file is checked, unless a change
// waits for that: a daemon has much to read when it starts.
const checkDelay = 2 * time.Second

// check is the state of the check of the file.
type check struct {
	later  bool                  // it runs after Open
	atOpen int64                 // see checkedAtOpen
	delay  time.Duration         // see checkDelay
	done   chan struct{}         // closed when changes no longer wait for it
	failed atomic.Pointer[error] // why the engine refuses everything; nil: it does not
	wanted chan struct{}         // closed when a change waits
	wants  sync.Once
	stop   chan struct{} // closed by Close
	stops  sync.Once
	runs   sync.WaitGroup
}

func newCheck(opt Options) *check {
	return &check{
		later: opt.CheckLater, atOpen: cmp.Or(opt.atOpen, checkedAtOpen), delay: cmp.Or(opt.delay, checkDelay),
		done: make(chan struct{}), wanted: make(chan struct{}), stop: make(chan struct{}),
	}
}

// close ends the check and waits for it. Changes that waited get ErrClosed.
func (c *check) close() {
	c.stops.Do(func() { close(c.stop) })
	c.runs.Wait()
}

// err returns why the engine refuses everything.
func (c *check) err() error {
	if failed := c.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// want begins the check unless it has begun, and returns a channel that is closed at its end.
func (c *check) want() <-chan struct{} {
	c.wants.Do(func() { close(c.wanted) })
	return c.done
}

// wait waits for the check and returns its error.
func (c *check) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err()
	default:
	}
	select {
	case <-c.want():
		return c.err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readAtStart reports whether Open always checks a bucket: a record that a table lacks
// which a daemon reads as a whole when it starts, a ban for example, would be missing until
// the next start.
func (e *Engine) readAtStart(bucket string) bool {
	return bucket == bucketMeta || bucket == bucketSequences || e.layout.First != nil && e.layout.First(engine.Table(bucket))
}

// examine checks the file, or the part that a start reads if the rest is checked
// later, and returns its header.
func (e *Engine) examine(tx *bbolt.Tx, size int64) (old header, err error) {
	only := e.readAtStart
	if !e.check.later {
		only = nil
	}
	found, old, err := inspect(tx, e.path, size, &e.layout, only, e.check.stop)
	if err != nil {
		return old, err
	}
	older := old.empty || old.schema != e.layout.Version
	if older && e.check.later { // an upgrade changes the file
		e.check.later = false
		return e.examine(tx, size)
	}
	return old, e.report(found, !older)
}

// checkRest checks the file of an open engine. Until it is done, changes wait:
// nothing is written to a file that may be damaged. If it is, the engine refuses
// everything from then on.
func (e *Engine) checkRest() {
	pause := time.NewTimer(e.check.delay)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-e.check.wanted:
	case <-e.check.stop: // readWhole notices
	}
	began := time.Now()
	e.log.Info().Str("file", e.path).Msg("the storage file is checked while the daemon runs; changes of accounts wait until that is done")
	err := e.readWhole()
	switch {
	case errors.Is(err, errStopped):
		err = engine.ErrClosed
	case err != nil:
		e.log.Error().Err(err).Msg("the storage file must not be used: operations that need it are refused, and /readyz answers 503")
	}
	if err != nil {
		e.check.failed.Store(&err)
		close(e.check.done)
		return
	}
	e.log.Info().Str("file", e.path).Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("the storage file is checked")
	close(e.check.done)
}

// readWhole checks the whole file.
func (e *Engine) readWhole() error {
	info, err := os.Stat(e.path)
	if err != nil {
		return err
	}
	return e.view(context.Background(), func(tx *bbolt.Tx) error {
		found, _, err := inspect(tx, e.path, info.Size(), &e.layout, nil, e.check.stop)
		if err == nil {
			err = e.report(found, true)
		}
		return e.explain(err)
	})
}

// explain names the file in an error of examine or readWhole.
func (e *Engine) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, errStopped):
		return err
	case isDamage(err):
		return damagedFile(e.path, err)
	}
	return fmt.Errorf("storage file %s: %w", e.path, err)
}
