package qr2

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// textMetrics are the counters of the text protocol.
type textMetrics struct {
	heartbeats, registered             prometheus.Counter
	queries, answered, silent, foreign prometheus.Counter
}

func newTextMetrics(reg prometheus.Registerer) *textMetrics {
	in := metric.With(reg)
	queries := in.Counters("respawnd_qr1_queries_total", "Text queries: packets sent, whole answers taken, rounds without an answer, answers without the proof.", "result")
	return &textMetrics{
		heartbeats: in.Counter("respawnd_qr1_heartbeats_total", "Text heartbeats of game servers."),
		registered: in.Counter("respawnd_qr1_registrations_total", "Servers of the text protocol that proved themselves and were listed."),
		queries:    queries.WithLabelValues("sent"),
		answered:   queries.WithLabelValues("answered"),
		silent:     queries.WithLabelValues("silent"),
		foreign:    queries.WithLabelValues("unproved"),
	}
}
