package bolt

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// errTaken is the error of a step.
var errTaken = errors.New("taken")

func TestLastWrite(t *testing.T) {
	e := openNew(t)
	if err := e.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, err := e.LastWrite()
	if written.IsZero() || err != nil {
		t.Errorf("LastWrite() after a write = %v, %v", written, err)
	}
	if err := e.update(func(*bbolt.Tx) error { return errTaken }); !errors.Is(err, errTaken) {
		t.Fatal(err)
	}
	if _, err := e.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a step that refused = %v, want nil: the disk was not asked", err)
	}
	if d := e.WriteUnderWay(); d != 0 {
		t.Errorf("WriteUnderWay() = %v, want 0", d)
	}
	err = e.update(func(*bbolt.Tx) error {
		if e.WriteUnderWay() <= 0 {
			t.Error("WriteUnderWay() in a write = 0")
		}
		return errIdle
	})
	if err != nil {
		t.Fatal(err)
	}
	e.writes.End(e.writes.Begin(), syscall.ENOSPC)
	if _, err := e.LastWrite(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("LastWrite() after a full disk = %v", err)
	}
	if err := e.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.LastWrite(); err != nil {
		t.Errorf("LastWrite() after a probe = %v", err)
	}
}

func TestOnWrite(t *testing.T) {
	e := openLoose(t)
	type write struct {
		took time.Duration
		err  error
	}
	var seen []write
	e.OnWrite(func(took time.Duration, err error) { seen = append(seen, write{took, err}) })
	want := func(what string, err error) {
		t.Helper()
		if len(seen) != 1 || !errors.Is(seen[0].err, err) {
			t.Errorf("%s is seen as %v, want one write with %v", what, seen, err)
		}
		seen = nil
	}
	if err := e.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seen) == 1 && seen[0].took <= 0 {
		t.Errorf("a write took %v", seen[0].took)
	}
	want("a write", nil)
	for _, refusal := range []error{errTaken, errIdle} {
		_ = e.update(func(*bbolt.Tx) error { return refusal })
		if len(seen) != 0 {
			t.Errorf("%v is seen as %v, want no write", refusal, seen)
		}
	}
	e.writes.End(e.writes.Begin(), syscall.ENOSPC)
	want("a full disk", syscall.ENOSPC)
	_ = e.update(func(*bbolt.Tx) error { panic("page 7 is odd") })
	want("a page that cannot be read", engine.ErrDamaged)
	_ = e.Probe(t.Context())
	want("a change that is refused", engine.ErrDamaged)
}

func TestLastWriteOfABrokenEngine(t *testing.T) {
	e := openLoose(t)
	_ = e.update(func(*bbolt.Tx) error { panic("page 7 is odd") })
	if _, err := e.LastWrite(); !errors.Is(err, engine.ErrDamaged) {
		t.Errorf("LastWrite() = %v, want ErrDamaged", err)
	}
}
