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
	lists, packets prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, service string, cached func() int) *metrics {
	m, in, prefix := &metrics{}, metric.With(reg), "respawnd_"+service+"_"
	received := in.Counters(prefix+"received_total", "Messages taken from game servers and browsers, by kind.", "kind").WithLabelValues
	m.received.heartbeat = received("heartbeat")
	m.received.flatline = received("flatline")
	m.received.info = received("info")
	m.received.list = received("list")
	m.received.listExt = received("list_ext")
	m.lists = in.Counter(prefix+"lists_total", "Lists that were sent.")
	m.packets = in.Counter(prefix+"list_packets_total", "Packets of the lists that were sent.")
	in.GaugeFunc(prefix+"cached_lists", "Lists that are kept encoded.", cached)
	return m
}
