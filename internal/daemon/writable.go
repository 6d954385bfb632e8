package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/backup"
)

const (
	// writeCheckEvery is the interval at which the daemon checks that the store
	// can be written.
	writeCheckEvery = 10 * time.Second
	// writeStalled is the time after which an unfinished write counts as
	// failed.
	writeStalled = 15 * time.Second
	// littleRoom is the number of free bytes below which the daemon tries
	// whether it can write: the free space that a system reports is not always
	// the space that this process can use.
	littleRoom = 1 << 20
	// roomNeeded is the number of bytes that must fit on the disk. With a full
	// disk a store continues for a while in free pages of its file.
	roomNeeded = 64 << 10
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
	store   writtenStore
	room    func(needed bool) error // whether there is room on the disk; needed: a write failed
	log     zerolog.Logger
	failing atomic.Pointer[error] // why it cannot be written; nil: it can
}

// run calls look at every interval until ctx ends.
func (w *storeWatch) run(ctx context.Context) {
	tick := time.NewTicker(writeCheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			w.look(ctx, now)
		}
	}
}

// look writes a probe, unless something was written just now, and logs a change
// of state.
func (w *storeWatch) look(ctx context.Context, now time.Time) {
	last, err := w.store.LastWrite()
	failed := err != nil || w.failing.Load() != nil
	err = w.room(failed)
	if err == nil && (failed || now.Sub(last) >= writeCheckEvery/2) {
		err = w.store.Probe(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	was := w.failing.Load()
	switch {
	case err != nil:
		w.failing.Store(&err)
		if was == nil {
			w.log.Error().Err(err).Msg("the store cannot be written; /readyz answers 503 until it can")
		}
	case was != nil:
		w.failing.Store(nil)
		w.log.Info().Msg("the store can be written again")
	}
}

// err returns why the store cannot be written, nil if it can.
func (w *storeWatch) err() error {
	err := error(nil)
	if failing := w.failing.Load(); failing != nil {
		err = *failing
	} else if d := w.store.WriteUnderWay(); d >= writeStalled {
		err = fmt.Errorf("a write has been under way for %v", d.Round(time.Second))
	} else {
		_, err = w.store.LastWrite()
	}
	if err != nil {
		return fmt.Errorf("the store cannot be written: %w", err)
	}
	return nil
}

// roomBeside returns an error if no more bytes fit on the disk of a file. It
// tries to write only if the system reports little room, or if needed.
func roomBeside(path, dir string) func(needed bool) error {
	return func(needed bool) error {
		if free, err := backup.FreeSpace(dir); err == nil && free >= littleRoom && !needed {
			return nil
		}
		probe := path + ".probe"
		err := writeSynced(probe, make([]byte, roomNeeded))
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
