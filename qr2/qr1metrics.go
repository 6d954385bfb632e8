package qr2

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// textMetrics are the counters of the text protocol.
type textMetrics struct {
	heartbeats, registered             prometheus.Counter
	queries, answered, silent, foreign prometheus.Counter
}

func newTextMetrics(reg prometheus.Registerer) *textMetrics {
	in := promauto.With(reg) // nil: they are not registered
	heartbeats := in.NewCounter(prometheus.CounterOpts{
		Name: "respawnd_qr1_heartbeats_total", Help: "Text heartbeats of game servers.",
	})
	registered := in.NewCounter(prometheus.CounterOpts{
		Name: "respawnd_qr1_registrations_total", Help: "Servers of the text protocol that proved themselves and were listed.",
	})
	queries := in.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_qr1_queries_total", Help: "Text queries: packets sent, whole answers taken, rounds without an answer, answers without the proof.",
	}, []string{"result"})
	return &textMetrics{
		heartbeats: heartbeats, registered: registered,
		queries:  queries.WithLabelValues("sent"),
		answered: queries.WithLabelValues("answered"),
		silent:   queries.WithLabelValues("silent"),
		foreign:  queries.WithLabelValues("unproved"),
	}
}
