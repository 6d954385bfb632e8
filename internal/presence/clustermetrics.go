package presence

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Why a message of another node was dropped.
const (
	dropVersion   = "version"
	dropNode      = "node"
	dropMalformed = "malformed"
)

// Results of an event for a player of another node.
const (
	passUnreachable = "unreachable"
	passFull        = "full"
)

var passNames = [...]string{answerRefused: "refused", answerTaken: "taken", answerAbsent: "absent"}

// clusterMetrics are the numbers of a hub of a cluster.
type clusterMetrics struct {
	dropped, passed *prometheus.CounterVec
	unsent          prometheus.Counter
}

func newClusterMetrics(r prometheus.Registerer, c *Clustered) *clusterMetrics {
	in := metric.With(r)
	in.GaugeFunc("respawnd_presence_elsewhere", "Sessions of players who are signed in on other nodes.", func() int { return c.Count() - c.Local.Count() })
	in.GaugeFunc("respawnd_presence_kept_events", "Events for players of other nodes that are kept until they have arrived.", c.post.held)
	in.GaugeFunc("respawnd_presence_store_up", "1 if players can sign in: the database knows the sessions of this node.", func() int {
		if c.down.Load() {
			return 0
		}
		return 1
	})
	return &clusterMetrics{
		dropped: in.Counters("respawnd_presence_node_dropped_total", "Messages of other nodes about players that were dropped, by reason.", "reason",
			dropVersion, dropNode, dropMalformed),
		passed: in.Counters("respawnd_presence_passed_total", "Events for players of other nodes, by result.", "result",
			passUnreachable, passFull, passNames[answerRefused], passNames[answerTaken], passNames[answerAbsent]),
		unsent: in.Counter("respawnd_presence_unsent_total", "Messages about players that could not be sent to other nodes."),
	}
}
