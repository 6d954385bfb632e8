package qr2

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		heartbeat, keepalive, available prometheus.Counter
	}
	messages struct {
		sent, delivered, lost, refused prometheus.Counter
	}
	probes struct {
		sent, reachable, silent prometheus.Counter
	}
	registered, challenges, refusals, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_qr2_received_total", "Packets taken from game servers and games, by kind.", "kind")
	m.received.heartbeat = received.WithLabelValues("heartbeat")
	m.received.keepalive = received.WithLabelValues("keepalive")
	m.received.available = received.WithLabelValues("available")
	messages := in.Counters("respawnd_qr2_messages_total", "Client messages to game servers: copies sent, delivered, given up, refused.", "result")
	m.messages.sent = messages.WithLabelValues("sent")
	m.messages.delivered = messages.WithLabelValues("delivered")
	m.messages.lost = messages.WithLabelValues("lost")
	m.messages.refused = messages.WithLabelValues("refused")
	probes := in.Counters("respawnd_qr2_probes_total", "Reachability probes: queries sent, servers that answered, servers that did not.", "result")
	m.probes.sent = probes.WithLabelValues("sent")
	m.probes.reachable = probes.WithLabelValues("reachable")
	m.probes.silent = probes.WithLabelValues("silent")
	m.registered = in.Counter("respawnd_qr2_registrations_total", "Servers that answered their challenge and were listed.")
	m.challenges = in.Counter("respawnd_qr2_challenges_total", "Challenge packets sent, repeated ones included.")
	m.refusals = in.Counter("respawnd_qr2_refusals_total", "Refusals sent to game servers.")
	m.writeErrors = in.Counter("respawnd_qr2_write_errors_total", "Packets that the system did not take.")
	return m
}
