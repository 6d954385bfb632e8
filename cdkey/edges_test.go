package cdkey

import (
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	for _, n := range []int{maxErrorText, maxErrorText + 1} {
		answer := string(appendRefusal(nil, hash{}, 1, strings.Repeat("x", n)))
		if got := strings.Count(answer, "x"); got != maxErrorText {
			t.Errorf("a text of %d bytes has %d in the answer, want %d", n, got, maxErrorText)
		}
	}
}
