package gpsp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Results of a request.
const (
	resultAnswered = "answered"
	resultRefused  = "refused"
	resultLimited  = "limited"
	resultError    = "error" // our fault
)

// metrics are the counters of the service; netserve.Metrics counts drops.
type metrics struct {
	requests *prometheus.CounterVec // command, result
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_gpsp_requests_total", Help: "Requests by command and result.",
	}, []string{"command", "result"})}
	for _, c := range commands() {
		m.requests.WithLabelValues(c.name, resultAnswered)
	}
	return m
}

func (m *metrics) request(command, result string) { m.requests.WithLabelValues(command, result).Inc() }
