package operator

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// A daemon that crashes leaves no passwords in a file, even if the system
// allows core dumps.
func TestNoCoreDump(t *testing.T) {
	t.Parallel()
	wrapper := []string{"sh", "-c", `ulimit -c unlimited 2>/dev/null || ulimit -c "$(ulimit -H -c)"; exec "$@"`, "sh"}
	c := rig.StartWrapped(t, wrapper, append(rig.TestEnv(t.TempDir()), "GOTRACEBACK=none"))
	for line := range strings.Lines(rig.ReadFile(t, fmt.Sprintf("/proc/%d/limits", c.Process.Pid))) {
		if rest, ok := strings.CutPrefix(line, "Max core file size"); ok {
			if f := strings.Fields(rest); len(f) < 2 || f[0] != "0" || f[1] != "0" {
				t.Errorf("limit of core files: %q, want 0 and 0", rest)
			}
		}
	}
	c.Signal(syscall.SIGABRT)
	if status, ok := c.End().Sys().(syscall.WaitStatus); !ok || status.CoreDump() {
		t.Errorf("the process ended with %v and wrote a core dump", c.State)
	}
}
