package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

func TestClusterListsAreComplete(t *testing.T) {
	t.Parallel()
	c := rig.StartCluster(t, 3)
	var hosts []*rig.Host
	for i, n := range c.Nodes {
		hosts = append(hosts, rig.Register(t, &n.Running, "hostname", fmt.Sprint("Host ", i), "numplayers", "1"))
	}
	c.List("three hosts", hosts...)
	rig.Settles(t, "cluster status", func() error {
		out := c.Nodes[1].Cli("cluster", "status")
		for _, want := range []string{"a     live", "b     this one", "c     live"} {
			if !strings.Contains(out, want) {
				return fmt.Errorf("no %q in\n%s", want, out)
			}
		}
		return nil
	})
	if out := c.Nodes[0].Cli("cluster", "status", "--json"); strings.Count(out, "\n") != 3 || strings.Count(out, `"servers":1`) != 3 {
		t.Errorf("as JSON:\n%s", out)
	}
	hosts[0].Moves(&c.Nodes[1].Running)
	c.List("one moved", hosts...)
	hosts[2].MustHeartbeat("2")
	c.List("one left", hosts[:2]...)
}

func TestClusterStatusOfLoneDaemon(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"cluster", "status"}, "cluster.name")
}

func TestClusterConfigurationMistakes(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir(), rig.Variable("cluster.name", "test"), rig.Variable("cluster.peers", "192.0.2.1"))
	rig.Refused(t, commands.ExitFailure, env, []string{"check"}, "cluster.name: a cluster needs a store", "storage.engine", "cluster.peers", "cluster.tls")
}

// A node that starts is ready when it has the lists of the others, and not before.
func TestClusterNodeIsReadyWithTheWholeList(t *testing.T) {
	t.Parallel()
	c := rig.StartCluster(t, 2)
	one, two := rig.Register(t, &c.Nodes[0].Running, "hostname", "One"), rig.Register(t, &c.Nodes[0].Running, "hostname", "Two")
	c.List("two hosts", one, two)
	for range 3 {
		c.Nodes[1].Stop()
		c.Start(1)
		rig.WantListed(t, &c.Nodes[1].Running, one, two)
	}
}

// The servers of a node that was killed stay in the lists of the others, and in its own
// when it is back.
func TestClusterNodeIsKilled(t *testing.T) {
	t.Parallel()
	c := rig.StartCluster(t, 3, rig.Variable("master.save_every", "1s"))
	one, two := rig.Register(t, &c.Nodes[0].Running, "hostname", "One"), rig.Register(t, &c.Nodes[1].Running, "hostname", "Two")
	c.List("two hosts", one, two)
	c.Nodes[0].Kill()
	rig.Settles(t, "b misses a", func() error {
		if text := c.Nodes[1].Get("/readyz"); !strings.HasPrefix(text, "ready\nwarning: ") || !strings.Contains(text, "gone: a") {
			return fmt.Errorf("readyz says %q", text)
		}
		return nil
	})
	c.List("a is dead", one, two)
	one.Moves(&c.Nodes[2].Running)
	c.Start(0)
	c.Together()
	c.List("a is back", one, two)
}
