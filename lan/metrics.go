package lan

import "github.com/prometheus/client_golang/prometheus"

// metrics are the counters of this package.
type metrics struct {
	sent, answered, found, announced prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_lan_discovery_total", Help: "Search on the local networks: questions sent, whole answers, servers listed, announcements of Zandronum servers.",
	}, []string{"event"})
	if reg != nil {
		reg.MustRegister(v)
	}
	return &metrics{v.WithLabelValues("sent"), v.WithLabelValues("answered"), v.WithLabelValues("listed"), v.WithLabelValues("announced")}
}
