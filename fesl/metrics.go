package fesl

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// unknownRequest is the label of requests that are not in the table.
const unknownRequest = "unknown"

// metrics are the counters of the service; netserve.Metrics counts connections and drops.
type metrics struct {
	requests *prometheus.CounterVec // request
	errors   *prometheus.CounterVec // code
	players  prometheus.Gauge
	paced    prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	return &metrics{
		requests: in.Counters("respawnd_fesl_requests_total", "Requests of games.", "request", unknownRequest),
		errors:   in.Counters("respawnd_fesl_errors_total", "Errors sent to games, by their code.", "code"),
		paced:    in.Counter("respawnd_fesl_paced_total", "Messages that waited because the client sent too many."),
		players:  in.Gauge("respawnd_fesl_players", "Players who are signed in to their account."),
	}
}

func (m *metrics) refused(c code) { m.errors.WithLabelValues(strconv.Itoa(int(c))).Inc() }
