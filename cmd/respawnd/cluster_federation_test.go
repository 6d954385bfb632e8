package main

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe/probetest"
)

// TestClusterFederation has one node of two read another master. Both nodes list the
// servers of that master, under its name.
func TestClusterFederation(t *testing.T) {
	t.Parallel()
	arena := probetest.Listen(t, probetest.Arena(testGame).Speaks("gs1")).Address()
	old := oldList(t, "HA6zkS", netip.MustParseAddrPort(arena.String()))
	nodes := startQuietNodes(t, []string{"web", "probe"}, []string{"a", "b"}, variable("federation.masters", "gamespy "+old+" game="+testGame+" enctype=2 name=lan-old"))
	for i, d := range nodes {
		eventually(t, "the server of the other master", func() bool {
			s, ok := federatedServers(t, d.running)[arena.String()]
			return ok && s.Via == "lan-old"
		})
		if s := federatedServers(t, d.running)[arena.String()]; s.Origin != "federated" || s.Query != "gs1" {
			t.Errorf("node %d lists it as %+v", i, s)
		}
	}
	eventually(t, "one node that reads the master, and one that leaves it to the other", func() bool {
		states := make(map[string]int)
		for _, d := range nodes {
			list, err := d.Masters(t.Context())
			must(t, err)
			for _, m := range list {
				states[m.State]++
			}
		}
		return states[operator.MasterRead] == 1 && states[operator.MasterElse] == 1
	})
}
