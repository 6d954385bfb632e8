package cluster

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// TestClusterFederation has one node of two read another master. Both nodes list the
// servers of that master, under its name.
func TestClusterFederation(t *testing.T) {
	t.Parallel()
	arena := probetest.Listen(t, probetest.Arena(rig.TestGame).Speaks("gs1")).Address()
	old := rig.OldList(t, "HA6zkS", netip.MustParseAddrPort(arena.String()))
	nodes := startQuietNodes(t, []string{"web", "probe"}, []string{"a", "b"}, rig.Variable("federation.masters", "gamespy "+old+" game="+rig.TestGame+" enctype=2 name=lan-old"))
	for i, d := range nodes {
		rig.Eventually(t, "the server of the other master", func() bool {
			s, ok := rig.FederatedServers(t, d.Running)[arena.String()]
			return ok && s.Via == "lan-old"
		})
		if s := rig.FederatedServers(t, d.Running)[arena.String()]; s.Origin != "federated" || s.Query != "gs1" {
			t.Errorf("node %d lists it as %+v", i, s)
		}
	}
	rig.Eventually(t, "one node that reads the master, and one that leaves it to the other", func() bool {
		states := make(map[string]int)
		for _, d := range nodes {
			list, err := operator.ListMasters.Call(t.Context(), d, operator.None{})
			rig.Must(t, err)
			for _, m := range list {
				states[m.State]++
			}
		}
		return states[operator.MasterRead] == 1 && states[operator.MasterElse] == 1
	})
}
