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
	free     uint64
	freeErr  error

	hangs     chan struct{} // probes wait until it is closed; nil: they do not
	roomHangs bool          // so does hasRoom
}

// running runs w until the function that it returns is called.
func running(t *testing.T, w *storeWatch) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	return func() { cancel(); <-done }
}

func (s *sickStore) disk() disk {
	return disk{space: s.hasRoom, free: func() (uint64, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.free, s.freeErr
	}}
}

// heal ends every failure.
func (s *sickStore) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.room, s.roomHangs = nil, nil, false
	if s.hangs != nil {
		close(s.hangs)
		s.hangs = nil
	}
}

// wait waits while the disk hangs.
func (s *sickStore) wait(hangs bool) {
	s.mu.Lock()
	end := s.hangs
	s.mu.Unlock()
	if end != nil && hangs {
		<-end
	}
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
	hangs := s.roomHangs
	s.mu.Unlock()
	s.wait(hangs)
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
	s.wait(true)
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
		w := newStoreWatch(store, store.disk(), zerolog.New(&log))
		defer running(t, w)()
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
		if err := w.err(); err == nil || !strings.Contains(err.Error(), "under way for 10s") {
			t.Errorf("during a write without end: %v", err)
		}
	})
}

// However the store fails, and whenever since the last check, /readyz says so within
// 20 s, and it says that all is well within 45 s after it is.
func TestStoreWatchIsNeverLate(t *testing.T) {
	full := errors.New("no space left on device")
	for name, fail := range map[string]func(*sickStore){
		"refused writes": func(s *sickStore) { s.err = full },
		"a full disk":    func(s *sickStore) { s.room = full },
		"writes that hang": func(s *sickStore) {
			s.hangs = make(chan struct{})
		},
		"a disk that hangs": func(s *sickStore) {
			s.hangs, s.roomHangs = make(chan struct{}), true
		},
	} {
		for _, busy := range []bool{false, true} {
			for late := time.Duration(0); late < 12*time.Second; late += 700 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					store := &sickStore{last: time.Now()}
					w := newStoreWatch(store, store.disk(), zerolog.Nop())
					defer running(t, w)()
					time.Sleep(time.Minute)
					for begin := time.Now(); time.Since(begin) < late; time.Sleep(100 * time.Millisecond) {
						if busy {
							store.change(func() { store.last = time.Now() })
						}
					}
					store.change(func() { fail(store) })
					defer store.heal()
					time.Sleep(20 * time.Second)
					synctest.Wait()
					if w.err() == nil {
						t.Errorf("%s, busy before: %v: nothing after 20 s, with the failure %v after a check", name, busy, late)
					}
					time.Sleep(time.Minute)
					if w.err() == nil {
						t.Errorf("%s, busy before: %v: all is well although nothing changed", name, busy)
					}
					store.heal()
					time.Sleep(45 * time.Second)
					synctest.Wait()
					if err := w.err(); err != nil {
						t.Errorf("%s, busy before: %v: 45 s after it could be written: %v", name, busy, err)
					}
				})
			}
		}
	}
}

// A store that is written all the time needs no probes, and one that is not gets no
// more than it needs.
func TestStoreWatchProbesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sickStore{last: time.Now()}
		w := newStoreWatch(store, store.disk(), zerolog.Nop())
		defer running(t, w)()
		for range 100 {
			time.Sleep(time.Second)
			store.change(func() { store.last = time.Now() })
		}
		probes := func() (n int) { store.change(func() { n = store.probes }); return n }
		if n := probes(); n != 0 {
			t.Errorf("%d probes of a store that is written, want none", n)
		}
		time.Sleep(10 * writeCheckEvery)
		if n := probes(); n < 9 || n > 10 {
			t.Errorf("%d probes of an idle store in %v, want one for each %v", n, 10*writeCheckEvery, writeCheckEvery)
		}
	})
}

// A disk that hangs is in the log once, and so is its end.
func TestStoreWatchLogsStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sickStore{last: time.Now()}
		var log bytes.Buffer
		w := newStoreWatch(store, store.disk(), zerolog.New(&log))
		defer running(t, w)()
		time.Sleep(time.Minute)
		for range 2 {
			store.change(func() { store.hangs = make(chan struct{}) })
			time.Sleep(time.Minute)
			store.heal()
			time.Sleep(time.Minute)
			synctest.Wait()
			if text := log.String(); strings.Count(text, notWritable) != 1 || strings.Count(text, "a write has been under way for 1") != 1 || strings.Count(text, writableAgain) != 1 {
				t.Errorf("the log of a disk that hung for a minute: %s", text)
			}
			log.Reset()
		}
	})
}

func TestFreeBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &sickStore{last: time.Now(), free: 5000}
		w := newStoreWatch(store, store.disk(), zerolog.Nop())
		defer running(t, w)()
		for _, want := range []uint64{5000, 10, 0} {
			store.change(func() { store.free = want })
			time.Sleep(writeCheckEvery + time.Second)
			synctest.Wait()
			if n, known := w.freeBytes(); n != float64(want) || !known {
				t.Errorf("freeBytes() = %v, %v, want %d", n, known, want)
			}
		}
		store.change(func() { store.freeErr = errors.New("no such folder") })
		time.Sleep(writeCheckEvery + time.Second)
		if n, known := w.freeBytes(); known {
			t.Errorf("freeBytes() = %v of a disk that cannot be asked", n)
		}
	})
}
