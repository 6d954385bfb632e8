package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A daemon that crashes leaves no passwords in a file, even if the system
// allows core dumps.
func TestNoCoreDump(t *testing.T) {
	t.Parallel()
	wrapper := []string{"sh", "-c", `ulimit -c unlimited 2>/dev/null || ulimit -c "$(ulimit -H -c)"; exec "$@"`, "sh"}
	c := startWrapped(t, wrapper, append(testEnv(t.TempDir()), "GOTRACEBACK=none"))
	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/limits", c.process.Pid))) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok {
			if f := strings.Fields(rest); len(f) < 2 || f[0] != "0" || f[1] != "0" {
				t.Errorf("limit of core files: %q, want 0 and 0", rest)
			}
		}
	}
	c.signal(syscall.SIGABRT)
	if status, ok := c.end().Sys().(syscall.WaitStatus); !ok || status.CoreDump() {
		t.Errorf("the process ended with %v and wrote a core dump", c.state)
	}
}

// The unit sets the limit too, for any process that the daemon might start.
func TestUnitRefusesCoreDumps(t *testing.T) {
	t.Parallel()
	if unit := readFile(t, filepath.Join("..", "..", "configs", "respawnd.service")); !strings.Contains(unit, "\nLimitCORE=0\n") {
		t.Error("configs/respawnd.service lacks LimitCORE=0")
	}
}
