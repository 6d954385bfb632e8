package gpsp

import "github.com/prometheus/client_golang/prometheus"

// Results of a request.
const (
	resultAnswered = "answered"
	resultRefused  = "refused"
	resultLimited  = "limited"
	resultError    = "error" // our fault
)

// metrics are the counters of the service; what it drops is counted by
// netserve.Metrics.
type metrics struct {
	requests *prometheus.CounterVec // command, result
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "respawnd", Subsystem: "gpsp", Name: "requests_total",
		Help: "Requests by command, and what came of them.",
	}, []string{"command", "result"})}
	for _, c := range commands() {
		m.requests.WithLabelValues(c.name, resultAnswered)
	}
	if reg != nil {
		reg.MustRegister(m.requests)
	}
	return m
}

func (m *metrics) request(command, result string) { m.requests.WithLabelValues(command, result).Inc() }
