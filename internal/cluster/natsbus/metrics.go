package natsbus

import "github.com/prometheus/client_golang/prometheus"

// Reasons why a message was dropped.
const (
	dropUnsent    = "unsent"    // the queue to the network is full, or there is no connection
	dropQueue     = "queue"     // a subscriber is too slow
	dropSlow      = "slow"      // the queue of the connection is full
	dropStranger  = "stranger"  // of a node that is not live
	dropVersion   = "version"   // of another version of the program
	dropMalformed = "malformed" // cannot be read
	dropTwin      = "twin"      // of another node with the name of this one
)

var dropReasons = []string{dropUnsent, dropQueue, dropSlow, dropStranger, dropVersion, dropMalformed, dropTwin}

type metrics struct {
	messages, bytes, dropped *prometheus.CounterVec
	losses, reconnects       prometheus.Counter
	requests                 *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer, b *Bus) *metrics {
	m := &metrics{
		messages:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "respawnd_cluster_messages_total", Help: "Messages between nodes."}, []string{"direction"}),
		bytes:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "respawnd_cluster_bytes_total", Help: "Bytes of messages between nodes."}, []string{"direction"}),
		dropped:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "respawnd_cluster_dropped_total", Help: "Messages between nodes that were dropped, by reason."}, []string{"reason"}),
		losses:     prometheus.NewCounter(prometheus.CounterOpts{Name: "respawnd_cluster_losses_total", Help: "Times that messages of another node were missing."}),
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{Name: "respawnd_cluster_reconnects_total", Help: "New connections to the messages between nodes after the first."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "respawnd_cluster_request_seconds", Help: "Time that requests to other nodes took, by result.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"result"}),
	}
	for _, direction := range []string{"in", "out"} {
		m.messages.WithLabelValues(direction)
		m.bytes.WithLabelValues(direction)
	}
	for _, reason := range dropReasons {
		m.dropped.WithLabelValues(reason)
	}
	for _, result := range []string{"ok", "error"} {
		m.requests.WithLabelValues(result)
	}
	if r != nil {
		r.MustRegister(m.messages, m.bytes, m.dropped, m.losses, m.reconnects, m.requests,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "respawnd_cluster_nodes", Help: "Live nodes of the cluster that this node sees, itself included."},
				func() float64 { return float64(len(b.Nodes())) }))
	}
	return m
}

func (m *metrics) passed(direction string, n int) {
	m.messages.WithLabelValues(direction).Inc()
	m.bytes.WithLabelValues(direction).Add(float64(n))
}

func (m *metrics) drop(reason string) { m.dropped.WithLabelValues(reason).Inc() }
