package commands

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseProgram gives the pages of the program itself back to the system, of which a start
// reads far more than are used later. They count as memory of the daemon as long as they are
// mapped. Pages needed again come from the system's cache. Errors are ignored: nothing is lost
// without it.
func releaseProgram() {
	file, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	for _, m := range unchanged(bufio.NewScanner(maps), file) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a part of the address space.
type mapping struct{ start, end uintptr }

// unchanged returns the read-only mappings of a file, but those with pages that differ from
// it, which would be lost. lines are those of /proc/PID/smaps.
func unchanged(lines *bufio.Scanner, file string) (found []mapping) {
	var m mapping // of file; zero: it is another mapping
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		switch start, end, isRange := strings.Cut(words[0], "-"); {
		case isRange:
			m = mapping{}
			if len(words) == 6 && words[5] == file && words[1][1] == '-' {
				m = mapping{address(start), address(end)}
			}
		case words[0] == "Anonymous:" && words[1] == "0" && m != (mapping{}):
			found = append(found, m)
		}
	}
	return found
}

// address parses an address as the system writes it.
func address(text string) uintptr {
	n, _ := strconv.ParseUint(text, 16, strconv.IntSize)
	return uintptr(n)
}
