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
	challenges, registered, refreshed, lists, packets, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, hosts, pending, cached func() int) *metrics {
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_q3master_received_total", "Messages taken from game servers and browsers, by kind.", "kind").WithLabelValues
	m.received.heartbeat = received("heartbeat")
	m.received.flatline = received("flatline")
	m.received.info = received("info")
	m.received.list = received("list")
	m.received.listExt = received("list_ext")
	m.challenges = in.Counter("respawnd_q3master_challenges_total", "Challenges sent to game servers, to restored ones too.")
	m.registered = in.Counter("respawnd_q3master_registrations_total", "Servers that answered their challenge and were listed.")
	m.refreshed = in.Counter("respawnd_q3master_refreshes_total", "Answers to challenges of servers that were listed already.")
	m.lists = in.Counter("respawnd_q3master_lists_total", "Lists that were sent.")
	m.packets = in.Counter("respawnd_q3master_list_packets_total", "Packets of the lists that were sent.")
	m.writeErrors = in.Counter("respawnd_q3master_write_errors_total", "Packets that the system did not take.")
	in.GaugeFunc("respawnd_q3master_hosts", "Servers that this master lists, hidden ones included.", hosts)
	in.GaugeFunc("respawnd_q3master_pending", "Servers that have not answered their challenge yet.", pending)
	in.GaugeFunc("respawnd_q3master_cached_lists", "Lists that are kept encoded.", cached)
	return m
}
