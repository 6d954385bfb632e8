package gamespy

import (
	"strings"
	"testing"
)

func TestRandomLetters(t *testing.T) {
	all := RandomLetters(26_000)
	if len(all) != 26_000 || strings.Trim(all, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		t.Fatalf("%d bytes, want 26000 capitals", len(all))
	}
	for c := 'A'; c <= 'Z'; c++ {
		if n := strings.Count(all, string(c)); n < 700 || n > 1300 {
			t.Errorf("%c %d times, want about 1000", c, n)
		}
	}
}
