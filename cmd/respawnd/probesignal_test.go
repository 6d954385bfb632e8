//go:build !windows

package main

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/probe/probetest"
)

func TestStaticServersAreReadAgainOnReload(t *testing.T) {
	t.Parallel()
	talk := probetest.Arena("cstrike").Speaks("a2s")
	one, two := probetest.Listen(t, talk).Address().String(), probetest.Listen(t, talk).Address().String()
	static := func(address string) string { return fmt.Sprintf("servers:\n  static: [\"a2s %s\"]\n", address) }
	c := startConfigured(t, static(one))
	d := &c.running
	appears(t, d, one)
	c.reload(static(two), reloaded)
	if _, ok := allRecords(t, d)[one]; ok {
		t.Error("a server that is no longer named is listed")
	}
	appears(t, d, two)
}
