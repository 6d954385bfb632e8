package peerchat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMotdLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "motd")
	line := strings.Repeat("m", maxMotdLine)
	for _, tc := range []struct{ lines, more, want int }{{1, 0, 1}, {maxMotdLines, 0, maxMotdLines}, {maxMotdLines + 1, 1, maxMotdLines}} {
		text := strings.Repeat(line+strings.Repeat("x", tc.more)+"\n", tc.lines)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readMotd(path)
		if err != nil || len(got) != tc.want || got[len(got)-1] != line {
			t.Errorf("%d lines of %d bytes: %d lines, %v, want %d of %d bytes", tc.lines, maxMotdLine+tc.more, len(got), err, tc.want, maxMotdLine)
		}
	}
}
