package api

import (
	"strings"
	"testing"
)

func TestNameKeyLimit(t *testing.T) {
	for n, want := range map[int]int{1: 1, maxNameKey: maxNameKey, maxNameKey + 1: maxNameKey} {
		if got := len(nameKey(strings.Repeat("N", n))); got != want {
			t.Errorf("key of a name of %d bytes: %d bytes, want %d", n, got, want)
		}
	}
}
