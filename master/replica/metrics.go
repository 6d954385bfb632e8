package replica

import "github.com/prometheus/client_golang/prometheus"

// Reasons why something of another node was not listed.
const (
	dropVersion   = "version"   // of another version of the program
	dropMalformed = "malformed" // cannot be read
	dropEarly     = "early"     // of a node that is not followed yet
	dropClaimed   = "claimed"   // another node has the server, or the list is full
)

type metrics struct {
	servers, dropped                    *prometheus.CounterVec
	batches, asked, sent, gaps, settled prometheus.Counter
	delay                               prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "respawnd_replica_" + name, Help: help})
	}
	m := &metrics{
		servers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_replica_changes_total", Help: "Changes of servers that went to other nodes or came from them.",
		}, []string{"direction"}),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_replica_dropped_total", Help: "Messages or servers of other nodes that were not taken, by reason.",
		}, []string{"reason"}),
		batches: counter("batches_total", "Batches of changes that were published."),
		asked:   counter("lists_asked_total", "Requests for the complete list of another node."),
		sent:    counter("lists_sent_total", "Complete lists that were sent to other nodes."),
		gaps:    counter("gaps_total", "Batches of other nodes that were missing."),
		settled: counter("settled_total", "Servers of this node that were removed because other nodes had listed too many from their address or network."),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "respawnd_replica_publish_seconds", Help: "Time from a change of the list until it was published to the other nodes.",
			Buckets: []float64{.05, .06, .08, .1, .2, .5, 1, 2},
		}),
	}
	for _, direction := range []string{"in", "out"} {
		m.servers.WithLabelValues(direction)
	}
	for _, reason := range []string{dropVersion, dropMalformed, dropEarly, dropClaimed} {
		m.dropped.WithLabelValues(reason)
	}
	if r != nil {
		r.MustRegister(m.servers, m.dropped, m.batches, m.asked, m.sent, m.gaps, m.settled, m.delay)
	}
	return m
}

func (m *metrics) drop(reason string) { m.dropped.WithLabelValues(reason).Inc() }
