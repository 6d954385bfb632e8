package bolt

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		held, err := Lock(path, time.Millisecond)
		if err != nil {
			t.Fatalf("Lock() = %v", err)
		}
		if _, err := Lock(path, time.Millisecond); !errors.Is(err, ErrInUse) {
			t.Errorf("Lock() of a locked file = %v, want ErrInUse", err)
		}
		if err := held.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
