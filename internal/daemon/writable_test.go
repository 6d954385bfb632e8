package daemon

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// sickStore is a store whose disk fails on request.
type sickStore struct {
	mu       sync.Mutex // guards the fields below
	err      error
	room     error
	last     time.Time
	lastErr  error
	underWay time.Duration
	probes   int
}

func (s *sickStore) LastWrite() (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.lastErr
}

func (s *sickStore) WriteUnderWay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay
}

func (s *sickStore) hasRoom(bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room
}

func (s *sickStore) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *sickStore) Probe(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes++
	s.last, s.lastErr = time.Now(), s.err
	return s.err
}

func TestStoreWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		store := &sickStore{last: time.Now()}
		var log bytes.Buffer
		w := &storeWatch{store: store, log: zerolog.New(&log), room: store.hasRoom}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.run(ctx) }()
		defer func() { cancel(); <-done }()
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		lines := func(text string) int { return strings.Count(log.String(), text) }

		wait(time.Minute)
		if err := w.err(); err != nil || log.Len() > 0 || store.probes == 0 {
			t.Fatalf("a store in good health: %v after %d probes, log %s", err, store.probes, &log)
		}
		store.change(func() { store.err = full })
		wait(20 * time.Second) // nothing is written
		if err := w.err(); !errors.Is(err, full) || !strings.Contains(err.Error(), "the store cannot be written") {
			t.Errorf("20 s after the disk failed: %v", err)
		}
		wait(time.Minute)
		if n := lines("cannot be written"); n != 1 {
			t.Errorf("%d lines about the failure, want 1:\n%s", n, &log)
		}
		store.change(func() { store.err = nil })
		wait(45 * time.Second)
		if err := w.err(); err != nil || lines("can be written again") != 1 {
			t.Errorf("45 s after the disk was well again: %v, log:\n%s", err, &log)
		}

		store.change(func() { store.room = full }) // the free pages in the file are enough for a probe
		wait(20 * time.Second)
		if err := w.err(); !errors.Is(err, full) {
			t.Errorf("without room: %v", err)
		}
		store.change(func() { store.room = nil })
		wait(20 * time.Second)

		store.change(func() { store.lastErr = full }) // of a player's change, a moment ago
		if err := w.err(); !errors.Is(err, full) {
			t.Errorf("right after a failed write: %v", err)
		}
		wait(20 * time.Second)
		store.change(func() { store.underWay = writeStalled })
		if err := w.err(); err == nil || !strings.Contains(err.Error(), "under way for 15s") {
			t.Errorf("during a write without end: %v", err)
		}
	})
}

// A store that is written all the time needs no probes.
func TestStoreWatchOfABusyStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sickStore{}
		w := &storeWatch{store: store, log: zerolog.Nop(), room: func(bool) error { return nil }}
		for range 5 {
			store.last = time.Now()
			time.Sleep(time.Second)
			w.look(t.Context(), time.Now())
		}
		if store.probes != 0 {
			t.Errorf("%d probes, want none", store.probes)
		}
	})
}
