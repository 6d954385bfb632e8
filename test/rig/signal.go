//go:build !windows

package rig

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// End waits for the process to end by itself.
func (c *Child) End() *os.ProcessState {
	c.T.Helper()
	guard := time.NewTimer(stopHang)
	defer guard.Stop()
	select {
	case <-c.Ended:
	case <-guard.C:
		c.T.Fatalf("the process did not end within %v", stopHang)
	}
	return c.State
}

// Signal sends a signal to the daemon.
func (c *Child) Signal(s os.Signal) {
	c.T.Helper()
	if err := c.Process.Signal(s); err != nil {
		c.T.Fatal(err)
	}
}

// Stop asks the process to end and waits for it.
func (c *Child) Stop() {
	c.T.Helper()
	c.Signal(syscall.SIGTERM)
	if state := c.End(); state.ExitCode() != 0 {
		c.T.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.Log)
	}
	c.Log.Check(c.T)
}

// configured is a process with a configuration file of its own.
type configured struct {
	*Child
	file, Data string
}

// StartConfigured starts a daemon with a configuration file that the test may change.
func StartConfigured(t testing.TB, text string, more ...string) *configured {
	t.Helper()
	dir := t.TempDir()
	c := &configured{file: filepath.Join(dir, "own.yaml"), Data: filepath.Join(dir, "data")}
	if err := WriteAt(c.file, text); err != nil {
		t.Fatal(err)
	}
	c.Child = StartChild(t, c.Data, append(more, "--config", c.file)...)
	return c
}

// Reload changes the configuration file and waits for the log line with the result of
// that. It returns the line and the length of the log before it.
func (c *configured) Reload(text string, done func(Entry) bool) (line Entry, n int) {
	c.T.Helper()
	if err := WriteAt(c.file, text); err != nil {
		c.T.Fatal(err)
	}
	n = c.Log.Len()
	c.Signal(syscall.SIGHUP)
	return c.WaitFor("the end of the reload", n, done), n
}

// Reloaded matches the line that ends a reload.
func Reloaded(e Entry) bool { return strings.HasPrefix(e.Text("message"), "reloaded") }
