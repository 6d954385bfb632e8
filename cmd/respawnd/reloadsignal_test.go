//go:build !windows

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReloadNamesTheKeysThatNeedARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	write := func(text string) {
		t.Helper()
		if err := writeAt(config, text); err != nil {
			t.Fatal(err)
		}
	}
	write("master: {max_servers: 5}\n")
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	write("master: {max_servers: 6, restore_for: 10s}\nserverbrowse: {idle: 60s}\n")
	c.signal(syscall.SIGHUP)
	e := c.waitFor("the keys that need a restart", 0, func(e entry) bool { return strings.Contains(e.text("message"), "restart") })
	if keys, _ := e["keys"].([]any); len(keys) != 2 || keys[0] != "master.restore_for" || keys[1] != "serverbrowse.idle" {
		t.Errorf("line %v, want the keys master.restore_for and serverbrowse.idle", e)
	}
	c.signal(syscall.SIGTERM)
	c.end()
}

// A reload replaces the configuration while goroutines of the daemon run. The race
// detector reports one that reads it without a lock.
func TestReloadRace(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", 0, reloaded)
	c.signal(syscall.SIGTERM)
	if state := c.end(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
	}
	c.log.check(t)
}
