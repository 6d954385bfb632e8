package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/respawnd/respawnd/storage"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// terminal returns both ends of a terminal with so many columns.
func terminal(t *testing.T, columns uint16) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	check(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: columns}))
	return screen, program
}

// A table fits the terminal that it is printed on.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	const columns = 72
	screen, out := terminal(t, columns)
	con := New(nil, nil, out, io.Discard)
	check(t, Show(con, "name…\tother…", []storage.Ban{{Reason: strings.Repeat("x", 200)}}, func(b storage.Ban) []string {
		return []string{b.Reason, b.Reason}
	}))
	var seen []byte
	for buf := make([]byte, 1024); strings.Count(string(seen), "\n") < 2; {
		n, err := screen.Read(buf)
		check(t, err)
		seen = append(seen, buf[:n]...)
	}
	for line := range strings.Lines(string(seen)) {
		if w := displayWidth(strings.TrimRight(line, "\r\n")); w > columns || strings.Contains(line, "x") && w != columns {
			t.Errorf("a line of %d columns on a terminal of %d:\n%s", w, columns, seen)
		}
	}
}
