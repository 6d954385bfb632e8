package operations

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/operator"
)

const clusterHelp = `Prepare a cluster of several machines, and show its state.

Every node shows the cluster as it sees it; ask each of them if they disagree.`

func clusterCommand(con *cli.Console) *cobra.Command {
	g := cli.Group("cluster", "Prepare a cluster of several machines, and show its state", clusterPrepare(con), clusterStatus(con))
	g.Long = clusterHelp
	return g
}

func clusterStatus(con *cli.Console) *cobra.Command {
	o := operator.GetStatus.As("cluster status", "Show the nodes of the cluster and their state")
	return con.JSONFlag(cli.Command(con, o, func(_ operator.None, status operator.Status) error {
		if len(status.Cluster) == 0 {
			return operator.ErrNoCluster
		}
		return cli.Show(con, "node\tstate\tversion\tschema\tstarted\tseen\tclock\tping\tservers", status.Cluster,
			func(n operator.ClusterNode) []string {
				return append([]string{n.Name, nodeState(&n), cli.Dash(n.Version), schemaOf(&n), startedAt(&n)}, nodeTimes(&n)...)
			})
	}))
}

// schemaOf returns the schema of the database that a node knows; "-": it did not say.
func schemaOf(n *operator.ClusterNode) string {
	if n.Schema == 0 {
		return "-"
	}
	return strconv.Itoa(n.Schema)
}

// startedAt returns when a node started, in local time.
func startedAt(n *operator.ClusterNode) string {
	at, err := time.Parse(time.RFC3339, n.Started)
	if err != nil {
		return cli.Dash(n.Started)
	}
	return cli.Stamp(at)
}

// nodeState describes a node in a word or two.
func nodeState(n *operator.ClusterNode) string {
	switch {
	case n.Self:
		return "this one"
	case !n.Live:
		return "gone"
	case !n.Complete:
		return "list incomplete"
	default:
		return "live"
	}
}

// nodeTimes returns the cells that this node has no values for itself.
func nodeTimes(n *operator.ClusterNode) []string {
	servers := strconv.Itoa(n.Servers)
	if n.Self {
		return []string{"-", "-", "-", servers}
	}
	clock, ping := "-", "-"
	if n.PingMS > 0 {
		clock, ping = fmt.Sprintf("%+.3fs", float64(n.ClockMS)/1000), fmt.Sprintf("%dms", n.PingMS)
	}
	return []string{(time.Duration(n.SeenMS) * time.Millisecond).Round(100 * time.Millisecond).String(), clock, ping, servers}
}
