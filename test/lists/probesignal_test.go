//go:build !windows

package lists

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

func TestStaticServersAreReadAgainOnReload(t *testing.T) {
	t.Parallel()
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	static := func(address string) string { return fmt.Sprintf("servers:\n  static: [\"a2s %s\"]\n", address) }
	c := rig.StartConfigured(t, static(one))
	d := &c.Running
	rig.Appears(t, d, one)
	c.Reload(static(two), rig.Reloaded)
	if _, ok := rig.AllRecords(t, d)[one]; ok {
		t.Error("a server that is no longer named is listed")
	}
	rig.Appears(t, d, two)
}
