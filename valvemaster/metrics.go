package valvemaster

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		challenge, heartbeat, goodbye, list prometheus.Counter
	}
	pages struct {
		small, full prometheus.Counter
	}
	challenges, registered, unknownKeys, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, hosts, walks func() int) *metrics {
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_valvemaster_received_total", "Messages taken from game servers and browsers, by kind.", "kind").WithLabelValues
	m.received.challenge = received("challenge_request")
	m.received.heartbeat = received("heartbeat")
	m.received.goodbye = received("goodbye")
	m.received.list = received("list")
	pages := in.Counters("respawnd_valvemaster_pages_total", "Pages of the list that were sent: small ones to sources that have not proved that they receive them, and full ones.", "size").WithLabelValues
	m.pages.small = pages("small")
	m.pages.full = pages("full")
	m.challenges = in.Counter("respawnd_valvemaster_challenges_total", "Challenges sent to game servers.")
	m.registered = in.Counter("respawnd_valvemaster_registrations_total", "Servers that proved their address and were handed on to be asked.")
	m.unknownKeys = in.Counter("respawnd_valvemaster_unknown_filter_keys_total", "Keys in filters of browsers that were ignored because they are not known.")
	m.writeErrors = in.Counter("respawnd_valvemaster_write_errors_total", "Packets that the system did not take.")
	in.GaugeFunc("respawnd_valvemaster_hosts", "Servers that send heartbeats, listed or not.", hosts)
	in.GaugeFunc("respawnd_valvemaster_walks", "Sources whose last page is remembered.", walks)
	return m
}
