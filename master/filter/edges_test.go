package filter

import (
	"strings"
	"testing"
)

func TestNumberBounds(t *testing.T) {
	for n, want := range map[int]bool{maxNumber: true, maxNumber + 1: false} {
		if _, ok := parseNumber(strings.Repeat("7", n)); ok != want {
			t.Errorf("%d digits are a number: %v, want %v", n, ok, want)
		}
	}
}
