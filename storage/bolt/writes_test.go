package bolt

import (
	"errors"
	"syscall"
	"testing"

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
	s.writes.end(syscall.ENOSPC, nil)
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

func TestLastWriteOfABrokenStore(t *testing.T) {
	s := openLoose(t)
	_ = s.update(t.Context(), func(*bbolt.Tx) error { panic("page 7 is odd") })
	if _, err := s.LastWrite(); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("LastWrite() = %v, want ErrDamaged", err)
	}
}
