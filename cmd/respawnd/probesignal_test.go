//go:build !windows

package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
)

func TestStaticServersAreReadAgainOnReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	static := func(address string) {
		t.Helper()
		if err := writeAt(config, fmt.Sprintf("servers:\n  static: [\"a2s %s\"]\n", address)); err != nil {
			t.Fatal(err)
		}
	}
	static(one)
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	d := &c.running
	appears(t, d, one)
	static(two)
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
	if _, ok := allRecords(t, d)[one]; ok {
		t.Error("a server that is not named any more is listed")
	}
	appears(t, d, two)
}
