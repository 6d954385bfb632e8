package accounts

import (
	"errors"
	"strings"
	"testing"
)

func TestCDKeyLimit(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).ID
	for n, want := range map[int]error{MaxCDKey: nil, MaxCDKey + 1: ErrBadCDKey} {
		if err := s.Profiles.RegisterCDKey(t.Context(), id, "gmtest", strings.Repeat("A", n)); !errors.Is(err, want) {
			t.Errorf("CD key of %d letters: %v, want %v", n, err, want)
		}
	}
}
