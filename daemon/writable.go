package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
)

const (
	// writeCheckEvery is the time after the last write at which the daemon checks
	// that the store can still be written.
	writeCheckEvery = 8 * time.Second
	// databaseCheckEvery is writeCheckEvery for a database that is away: it may be back
	// at any moment.
	databaseCheckEvery = time.Second
	// minWriteCheck is the least time between two checks.
	minWriteCheck = time.Second
	// writeStalled is the time after which an unfinished write or check counts as
	// failed. With the two above, /readyz says no within 20 s.
	writeStalled = 10 * time.Second
	// littleSpace is the number of free bytes below which the daemon tries
	// whether it can write: the free space that a system reports is not always
	// the space that this process can use.
	littleSpace = 1 << 20
	// spaceNeeded is the number of bytes that must fit on the disk. With a full
	// disk a store continues for a while in free pages of its file.
	spaceNeeded = 64 << 10
)

// writtenStore is the part of the store that storeWatch needs.
type writtenStore interface {
	LastWrite() (time.Time, error)
	WriteUnderWay() time.Duration
	Probe(ctx context.Context) error
}

// storeWatch finds out whether the store can be written, even while no service
// writes.
type storeWatch struct {
	store writtenStore
	disk  disk
	log   zerolog.Logger

	failing atomic.Pointer[failure]   // why it cannot be written; nil: it can
	looking atomic.Pointer[time.Time] // when the check that is under way began; nil: none is
	free    atomic.Uint64             // bytes on the disk at the last check
}

// failure says why and since when the store cannot be written.
type failure struct {
	err   error
	since time.Time
}

// away reports whether the store is a database that is away, rather than a disk that
// fails.
func away(err error) bool { return errors.Is(err, storage.ErrUnavailable) }

type disk struct {
	free  func() (uint64, error)  // bytes that may be written to it; see backup.FreeSpace
	space func(needed bool) error // whether there is room on it; needed: a write failed
}

func newStoreWatch(store writtenStore, on disk, log zerolog.Logger) *storeWatch {
	w := &storeWatch{store: store, disk: on, log: log}
	w.measure()
	return w
}

// measure asks for the free bytes. A disk that hangs may not answer.
func (w *storeWatch) measure() {
	n, err := w.disk.free()
	if err != nil {
		n = math.MaxUint64
	}
	w.free.Store(n)
}

// freeBytes returns the free bytes of the disk at the last check; known is false if
// the system does not say.
func (w *storeWatch) freeBytes() (n float64, known bool) {
	free := w.free.Load()
	return float64(free), free != math.MaxUint64
}

// run checks the store until ctx ends: writeCheckEvery after each write, and as often
// while it cannot be written.
func (w *storeWatch) run(ctx context.Context) {
	var stalls sync.WaitGroup
	stalls.Go(func() { w.watchStalls(ctx) })
	defer stalls.Wait()
	for wait := writeCheckEvery; clock.Pause(ctx, wait); wait = w.next(time.Now()) {
		w.look(ctx, time.Now())
	}
}

// watchStalls logs a write or check that does not end, until ctx ends.
func (w *storeWatch) watchStalls(ctx context.Context) {
	was := false
	for now := range clock.Ticks(ctx, minWriteCheck) {
		if away(w.cause()) {
			continue // look reports it
		}
		is := w.underWay(now) >= writeStalled
		switch err := w.err(); {
		case is && !was:
			w.log.Error().Err(err).Msg(notWritable)
		case was && !is && err == nil:
			w.log.Info().Msg(writableAgain)
		}
		was = is
	}
}

// Lines of the log.
const (
	notWritable   = "the store cannot be written; /readyz answers 503 until it can"
	writableAgain = "the store can be written again"

	databaseAway  = "the database is away: lists, heartbeats and sessions continue, operations that need it are refused, and /readyz answers 503 until it is back"
	databaseAgain = "the database is back"
)

// next returns the time until the next check.
func (w *storeWatch) next(now time.Time) time.Duration {
	if f := w.failing.Load(); f != nil {
		if away(f.err) {
			return databaseCheckEvery
		}
		return writeCheckEvery
	}
	last, err := w.store.LastWrite()
	if away(err) {
		return databaseCheckEvery
	}
	return min(max(writeCheckEvery-now.Sub(last), minWriteCheck), writeCheckEvery)
}

// look checks whether there is room on the disk, writes a probe unless something
// was written since the last check was due, and logs a change of state.
func (w *storeWatch) look(ctx context.Context, now time.Time) {
	w.looking.Store(&now)
	defer w.looking.Store(nil)
	w.measure()
	last, err := w.store.LastWrite()
	failed := err != nil || w.failing.Load() != nil
	err = w.disk.space(failed)
	if err == nil && (failed || now.Sub(last) >= writeCheckEvery) {
		err = w.store.Probe(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	was := w.failing.Load()
	switch {
	case err != nil && was == nil:
		w.failing.Store(&failure{err, now})
		w.log.Error().Err(err).Msg(chosen(away(err), databaseAway, notWritable))
	case err != nil:
		w.failing.Store(&failure{err, was.since})
	case was != nil:
		w.failing.Store(nil)
		if away(was.err) {
			w.log.Info().Stringer("after", time.Since(was.since).Round(time.Second)).Msg(databaseAgain)
			return
		}
		w.log.Info().Msg(writableAgain)
	}
}

// chosen returns yes if it is true, and no otherwise.
func chosen(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// awaySeconds returns how long the database has been away, 0 if it is not.
func (w *storeWatch) awaySeconds() float64 {
	if f := w.failing.Load(); f != nil && away(f.err) {
		return time.Since(f.since).Seconds()
	}
	return 0
}

// cause returns why the last check failed, nil if it did not.
func (w *storeWatch) cause() error {
	if f := w.failing.Load(); f != nil {
		return f.err
	}
	return nil
}

// err returns why the store cannot be written, nil if it can.
func (w *storeWatch) err() error {
	err := error(nil)
	if f := w.failing.Load(); f != nil && away(f.err) {
		return fmt.Errorf("the database has been away for %v: %w", time.Since(f.since).Round(time.Second), f.err)
	} else if f != nil {
		err = f.err
	} else if d := w.underWay(time.Now()); d >= writeStalled {
		err = fmt.Errorf("a write has been under way for %v", d.Round(time.Second))
	} else {
		_, err = w.store.LastWrite()
	}
	switch {
	case away(err):
		return fmt.Errorf("the database is away: %w", err)
	case err != nil:
		return fmt.Errorf("the store cannot be written: %w", err)
	}
	return nil
}

// underWay returns the duration of the current write or check.
func (w *storeWatch) underWay(now time.Time) time.Duration {
	d := w.store.WriteUnderWay()
	if since := w.looking.Load(); since != nil {
		d = max(d, now.Sub(*since))
	}
	return d
}

// diskOf returns the disk of the data folder. A database is on another one, which its
// server watches.
func diskOf(s *settings) disk {
	if s.Storage.Shared() {
		return disk{free: func() (uint64, error) { return backup.FreeSpace(s.DataDir) }, space: func(bool) error { return nil }}
	}
	return disk{free: func() (uint64, error) { return backup.FreeSpace(s.DataDir) }, space: spaceBeside(s.storePath(), s.DataDir)}
}

// spaceBeside returns an error if no more bytes fit on the disk of a file. It
// tries to write only if the system reports little room, or if needed.
func spaceBeside(path, dir string) func(needed bool) error {
	return func(needed bool) error {
		if free, err := backup.FreeSpace(dir); err == nil && free >= littleSpace && !needed {
			return nil
		}
		probe := path + ".probe"
		err := writeSynced(probe, make([]byte, spaceNeeded))
		if gone := os.Remove(probe); err == nil {
			err = gone
		}
		return err
	}
}

// writeSynced writes a file and waits for the disk.
func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
