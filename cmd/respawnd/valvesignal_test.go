//go:build !windows

package main

import (
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
)

func TestValveReload(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "valvemaster:\n  max_per_addr: 1\n")
	d := &c.running
	h, other := newValveHost(t, d, probetest.Arena("cstrike")), newValveHost(t, d, probetest.Arena("cstrike"))
	h.heartbeat()
	c.waitFor("the verdict", 0, verdictOn(h.address(), "listed"))
	other.heartbeat()
	c.waitFor("the verdict", 0, verdictOn(other.address(), "too many servers here"))
	_, n := c.reload("valvemaster:\n  max_per_addr: 2\n", reloaded)
	other.heartbeat()
	c.waitFor("the verdict", n, verdictOn(other.address(), "listed"))
	c.stop()
}
