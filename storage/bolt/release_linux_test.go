package bolt

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// resident returns how much of a file is mapped into the process and in memory.
func resident(t *testing.T, path string) (kib int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ours := false
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		switch {
		case strings.Contains(fields[0], "-"):
			ours = fields[len(fields)-1] == path
		case ours && fields[0] == "Rss:":
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			kib += n
		}
	}
	return kib
}

func TestReleaseGivesPagesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	e := openAt(t, path)
	if err := putRecord(e, "servers", "list", make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	if v, err := getRecord(e, "servers", "list"); len(v) < 4<<20 || err != nil {
		t.Fatalf("%d bytes, %v", len(v), err)
	}
	read := resident(t, path)
	if read < 4<<10 {
		t.Fatalf("%d KiB of the file are in memory after it was read", read)
	}
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := resident(t, path); kept > read/4 {
		t.Errorf("%d KiB of the file stay in memory, of %d", kept, read)
	}
	if v, err := getRecord(e, "servers", "list"); len(v) < 4<<20 || err != nil {
		t.Errorf("%d bytes after that, %v", len(v), err)
	}
	if err := putRecord(e, "servers", "list", nil); err != nil {
		t.Error(err)
	}
}
