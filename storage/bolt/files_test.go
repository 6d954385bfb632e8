package bolt

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// The number of files is written, because so many files take too long to make.
func TestFilesFull(t *testing.T) {
	s := openLoose(t)
	_, p, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "A"})
	if err != nil {
		t.Fatal(err)
	}
	everything := storage.FileUsage{Files: math.MaxInt, Bytes: math.MaxInt64}
	file := storage.File{Game: "gmtest", Owner: p.ID, Hash: strings.Repeat("0", 64)}
	for there, want := range map[int]error{storage.MaxFiles - 1: nil, storage.MaxFiles: storage.ErrFull} {
		err := s.change(t.Context(), func(c *change) error { return c.putFileUsage(0, storage.FileUsage{Files: there}) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateFile(t.Context(), file, everything, everything); !errors.Is(err, want) {
			t.Errorf("CreateFile() with %d files there = %v, want %v", there, err, want)
		}
	}
}
