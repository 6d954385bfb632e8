package quake3

import (
	"strings"
	"testing"
)

func TestTagLimit(t *testing.T) {
	for n, ok := range map[int]bool{1: true, MaxTag: true, MaxTag + 1: false} {
		tag, err := ParseHeartbeat([]byte(strings.Repeat("t", n) + "\n"))
		if (err == nil) != ok || ok && len(tag) != n {
			t.Errorf("tag of %d bytes: %q, %v", n, tag, err)
		}
	}
}
