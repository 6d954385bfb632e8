package q3master

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		heartbeat, flatline, info, list, listExt prometheus.Counter
	}
}

func newMetrics(reg prometheus.Registerer, service string) (m metrics) {
	received := metric.With(reg).Counters("respawnd_"+service+"_received_total", "Messages taken from game servers and browsers, by kind.", "kind").WithLabelValues
	m.received.heartbeat = received("heartbeat")
	m.received.flatline = received("flatline")
	m.received.info = received("info")
	m.received.list = received("list")
	m.received.listExt = received("list_ext")
	return m
}
