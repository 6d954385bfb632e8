package bolt

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

func TestLastWrite(t *testing.T) {
	s := openNew(t)
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, err := s.LastWrite()
	if written.IsZero() || err != nil {
		t.Errorf("LastWrite() after a write = %v, %v", written, err)
	}
	if err := s.update(t.Context(), func(*bbolt.Tx) error { return storage.ErrTaken }); !errors.Is(err, storage.ErrTaken) {
		t.Fatal(err)
	}
	if _, err := s.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a step that refused = %v, want nil: the disk was not asked", err)
	}
	if d := s.WriteUnderWay(); d != 0 {
		t.Errorf("WriteUnderWay() = %v, want 0", d)
	}
	err = s.update(t.Context(), func(*bbolt.Tx) error {
		if s.WriteUnderWay() <= 0 {
			t.Error("WriteUnderWay() in a write = 0")
		}
		return errIdle
	})
	if err != nil {
		t.Fatal(err)
	}
	s.writes.end(s.writes.begin(), syscall.ENOSPC, nil)
	if _, err := s.LastWrite(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("LastWrite() after a full disk = %v", err)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a probe = %v", err)
	}
}

// A transaction ends after the next one has begun: the lock of the file is free
// before the result is known.
func TestWritesThatOverlap(t *testing.T) {
	var w writes
	first := w.begin()
	second := first.Add(time.Second)
	w.began = second
	w.end(first, syscall.EIO, nil)
	if !w.began.Equal(second) {
		t.Errorf("the write that began at %v is unknown after the end of the one at %v", second, first)
	}
	w.end(second, nil, nil)
	if !w.began.IsZero() || w.err != nil {
		t.Errorf("after all writes: one began at %v, the last ended with %v", w.began, w.err)
	}
}

func TestOnWrite(t *testing.T) {
	s := openLoose(t)
	type write struct {
		took time.Duration
		err  error
	}
	var seen []write
	s.OnWrite(func(took time.Duration, err error) { seen = append(seen, write{took, err}) })
	want := func(what string, err error) {
		t.Helper()
		if len(seen) != 1 || !errors.Is(seen[0].err, err) {
			t.Errorf("%s is seen as %v, want one write with %v", what, seen, err)
		}
		seen = nil
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seen) == 1 && seen[0].took <= 0 {
		t.Errorf("a write took %v", seen[0].took)
	}
	want("a write", nil)
	for _, refusal := range []error{storage.ErrTaken, errIdle} {
		_ = s.update(t.Context(), func(*bbolt.Tx) error { return refusal })
		if len(seen) != 0 {
			t.Errorf("%v is seen as %v, want no write", refusal, seen)
		}
	}
	s.writes.end(s.writes.begin(), syscall.ENOSPC, nil)
	want("a full disk", syscall.ENOSPC)
	_ = s.update(t.Context(), func(*bbolt.Tx) error { panic("page 7 is odd") })
	want("a page that cannot be read", storage.ErrDamaged)
	_ = s.Probe(t.Context())
	want("a change that is refused", storage.ErrDamaged)
}

func TestLastWriteOfABrokenStore(t *testing.T) {
	s := openLoose(t)
	_ = s.update(t.Context(), func(*bbolt.Tx) error { panic("page 7 is odd") })
	if _, err := s.LastWrite(); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("LastWrite() = %v, want ErrDamaged", err)
	}
}
