package cdkey

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// verdictNames are the verdicts as the metrics show them.
var verdictNames = [...]string{
	verdictAccepted: "accepted", verdictUnknown: "unknown_key", verdictWrong: "wrong_response", verdictInUse: "in_use",
	verdictBanned: "banned", verdictAsked: "asked",
}

// metrics are the counters of the service; netserve.Metrics counts drops.
type metrics struct {
	requests    *prometheus.CounterVec // verdict
	verdicts    [len(verdictNames)]prometheus.Counter
	writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, t *table) *metrics {
	f := metric.With(reg)
	m := &metrics{
		requests:    f.Counters("respawnd_cdkey_requests_total", "Checks of keys, by how they ended.", "verdict", verdictNames[1:]...),
		writeErrors: f.Counter("respawnd_cdkey_write_errors_total", "Answers that could not be sent."),
	}
	f.GaugeFunc("respawnd_cdkey_in_use", "Keys in use on game servers, in strict mode.", t.len)
	for v := range m.verdicts {
		if v > 0 {
			m.verdicts[v] = m.requests.WithLabelValues(verdictNames[v])
		}
	}
	return m
}

func (m *metrics) decided(v verdict) {
	if v != verdictNone {
		m.verdicts[v].Inc()
	}
}

// accepted counts n players who were let in.
func (m *metrics) accepted(n int) { m.verdicts[verdictAccepted].Add(float64(n)) }
