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
	// writeCheckEvery is how often it is looked whether the store can be written.
	writeCheckEvery = 10 * time.Second
	// writeStalled is after how long a write that is under way counts as failed.
	writeStalled = 15 * time.Second
	// littleRoom is how many free bytes make it worth a look whether there are any:
	// what a system calls free is not always free for this process, nor the other
	// way round.
	littleRoom = 1 << 20
	// roomNeeded is how many bytes must fit on the disk. A store writes into free
	// pages of its file for a while when there is no more room.
	roomNeeded = 64 << 10
)

// writtenStore is what storeWatch needs of the store.
type writtenStore interface {
	LastWrite() (time.Time, error)
	WriteUnderWay() time.Duration
	Probe(ctx context.Context) error
}

// storeWatch finds out whether the store can be written, even while nothing is.
type storeWatch struct {
	store   writtenStore
	room    func(needed bool) error // whether there is room on the disk; needed: a write failed
	log     zerolog.Logger
	failing atomic.Pointer[error] // why it cannot be written; nil: it can
}

// run looks from time to time until ctx ends.
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

// look writes something unless that was just done, and logs what changed.
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

// roomBeside returns an error if no more bytes fit on the disk of a file. It only
// tries if the system says that there is little room, or if needed.
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
