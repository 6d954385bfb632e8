//go:build !windows

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
)

func TestValveReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	if err := writeAt(config, "valvemaster:\n  max_per_addr: 1\n"); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	d := &c.running
	h, other := newValveHost(t, d, probetest.Arena("cstrike")), newValveHost(t, d, probetest.Arena("cstrike"))
	h.heartbeat()
	c.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
	other.heartbeat()
	c.waitFor("the verdict", 0, verdictOn(other.address(), "too many servers here"))
	if err := writeAt(config, "valvemaster:\n  max_per_addr: 2\n"); err != nil {
		t.Fatal(err)
	}
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
	other.heartbeat()
	c.waitFor("the verdict", n, verdictOn(other.address(), "listed"))
	c.signal(syscall.SIGTERM)
	if state := c.end(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
	}
	c.log.check(t)
}
