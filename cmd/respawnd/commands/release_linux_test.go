package commands

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mappings is what Linux writes of a program, shortened.
const mappings = `00400000-01ac8000 r-xp 00000000 fe:00 42                         /usr/bin/respawnd
Size:              23328 kB
Anonymous:             0 kB
01ac8000-03546000 r--p 016c8000 fe:00 42                         /usr/bin/respawnd
Anonymous:             4 kB
03547000-03631000 rw-p 03147000 fe:00 42                         /usr/bin/respawnd
Anonymous:             0 kB
03700000-03800000 r--p 03147000 fe:00 42                         /usr/bin/respawnd
Anonymous:             0 kB
c000000000-c001800000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000100000 r--s 00000000 fe:00 43                 /var/lib/respawnd/respawnd.db
Anonymous:             0 kB
`

// Pages that the program changed, or that are not its own, stay.
func TestUnchanged(t *testing.T) {
	got := unchanged(bufio.NewScanner(strings.NewReader(mappings)), "/usr/bin/respawnd")
	if want := []mapping{{0x400000, 0x1ac8000}, {0x3700000, 0x3800000}}; !slices.Equal(got, want) {
		t.Errorf("unchanged() = %x, want %x", got, want)
	}
}

// The program works after its pages were returned, and is smaller.
func TestReleaseProgram(t *testing.T) {
	before := resident(t)
	releaseProgram()
	if after := resident(t); after >= before {
		t.Errorf("%d pages of files are resident, %d before", after, before)
	}
}

// resident returns how many pages of files are resident.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[2])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
