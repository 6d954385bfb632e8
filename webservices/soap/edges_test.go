package soap

import (
	"strings"
	"testing"
)

func TestReferenceLimit(t *testing.T) {
	for n, want := range map[int]rune{len("&#65;"): 'A', maxReference: 'A', maxReference + 1: '&'} {
		text := "&#" + strings.Repeat("0", n-len("&#65;")) + "65;"
		if r, size := reference([]byte(text)); r != want || want == 'A' && size != n {
			t.Errorf("reference of %d bytes: %q of %d bytes, want %q", n, r, size, want)
		}
	}
}
