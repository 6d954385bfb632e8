package bolt

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
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

func TestCompactServersReleasesPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openAt(t, path)
	save(t, s, records(0, 10_000))
	before, errs := load(t, s)
	if len(before) != 10_000 || errs != nil {
		t.Fatalf("%d servers, %v", len(before), errs)
	}
	read := resident(t, path)
	if read < 256 {
		t.Fatalf("%d KiB of the file are in memory after it was read", read)
	}
	if err := s.CompactServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if kept := resident(t, path); kept > read/4 {
		t.Errorf("%d KiB of the file stay in memory, of %d", kept, read)
	}
	if after, errs := load(t, s); len(after) != len(before) || errs != nil {
		t.Errorf("%d servers after that, %v", len(after), errs)
	}
	if n, err := s.SaveServers(t.Context(), storage.WholeList(records(0, 1))); n.Servers != 1 || err != nil {
		t.Errorf("SaveServers = %+v, %v", n, err)
	}
}
