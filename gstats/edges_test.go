package gstats

import (
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	size := func(n int) int { return len(appendPlayer(nil, "pauthr", 0, number{}, strings.Repeat("x", n))) }
	if got := size(maxErrorText) - size(maxErrorText-1); got != 1 {
		t.Errorf("the last byte of the longest text adds %d bytes to the answer, want 1", got)
	}
	if got := size(maxErrorText + 1); got != size(maxErrorText) {
		t.Errorf("a text that is too long makes an answer of %d bytes, want %d", got, size(maxErrorText))
	}
}
