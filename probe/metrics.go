package probe

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of this package.
type metrics struct {
	sent, answered, silent, refused prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_probe_questions_total", Help: "Questions to listed servers: packets sent, answered, given up, refused because of too many.",
	}, []string{"result"})
	if reg != nil {
		reg.MustRegister(v)
	}
	return &metrics{v.WithLabelValues("sent"), v.WithLabelValues("answered"), v.WithLabelValues("silent"), v.WithLabelValues("refused")}
}
