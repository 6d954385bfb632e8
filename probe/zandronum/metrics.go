package zandronum

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of this package.
type metrics struct {
	sent, answered, denied, silent prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_zanprobe_queries_total",
		Help: "Queries to Zandronum servers: sent, answered, denied by the server, not answered.",
	}, []string{"result"})
	if reg != nil {
		reg.MustRegister(v)
	}
	return &metrics{
		v.WithLabelValues("sent"), v.WithLabelValues("answered"), v.WithLabelValues("denied"), v.WithLabelValues("silent"),
	}
}
