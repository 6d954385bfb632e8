package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program returns the path of a program of a Debian package. Programs of others keep their
// own time: .ci/full runs their tests and fails without one (CI=full), .ci/run leaves
// them out (another CI), and without CI a test is skipped if its program is missing.
func Program(t *testing.T, name, pack string) string {
	t.Helper()
	ci := os.Getenv("CI")
	if !HasPrograms() {
		t.Skipf("%s keeps its own time: .ci/full runs it", name)
	}
	for _, dir := range []string{"", "/usr/games"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	if ci != "" {
		t.Fatalf("CI is full and %s is missing: install Debian's package %s", name, pack)
	}
	t.Skipf("%s is not installed; Debian's package is %s", name, pack)
	return ""
}

// HasPrograms reports whether tests may use programs of others.
func HasPrograms() bool { return os.Getenv("CI") == "" || os.Getenv("CI") == "full" }

// OnlyFull skips a test but in .ci/full: its result depends on times that a busy machine
// does not keep. It reports a rate.
func OnlyFull(t *testing.T) {
	t.Helper()
	if os.Getenv("CI") != "full" {
		t.Skip("its result depends on the machine: .ci/full runs it (CI=full)")
	}
}

// Qstat returns the path of a server browser of the time.
func Qstat(t *testing.T) string { return Program(t, "quakestat", "qstat") }
