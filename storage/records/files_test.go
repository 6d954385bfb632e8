package records

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// The number of files is written, because so many files take too long to make.
func TestFilesFull(t *testing.T) {
	s := openNew(t)
	_, p := newAccount(t, s, "a")
	everything := storage.FileUsage{Files: math.MaxInt, Bytes: math.MaxInt64}
	file := storage.File{Game: "gmtest", Owner: p.ID, Hash: strings.Repeat("0", 64)}
	err := s.change(t.Context(), func(c *change) error { c.addCount(countFiles, storage.MaxFiles-1); return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{nil, storage.ErrFull} {
		if _, err := s.CreateFile(t.Context(), file, everything, everything); !errors.Is(err, want) {
			t.Errorf("CreateFile() = %v, want %v", err, want)
		}
	}
}
