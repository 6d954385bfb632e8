//go:build !windows

package masters

import (
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

func TestValveReload(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "valvemaster:\n  max_per_addr: 1\n")
	d := &c.Running
	h, other := rig.NewValveHost(t, d, probetest.Arena("cstrike")), rig.NewValveHost(t, d, probetest.Arena("cstrike"))
	h.MustHeartbeat()
	c.WaitFor("the verdict", 0, rig.VerdictOn(h.Address(), "listed"))
	other.MustHeartbeat()
	c.WaitFor("the verdict", 0, rig.VerdictOn(other.Address(), "too many servers here"))
	_, n := c.Reload("valvemaster:\n  max_per_addr: 2\n", rig.Reloaded)
	other.MustHeartbeat()
	c.WaitFor("the verdict", n, rig.VerdictOn(other.Address(), "listed"))
	c.Stop()
}
