package lan

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

type metrics struct {
	sent, answered, found, announced prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	v := metric.With(reg).Counters("respawnd_lan_discovery_total",
		"Search on the local networks: questions sent, whole answers, servers listed, announcements of Zandronum servers.", "event")
	return &metrics{v.WithLabelValues("sent"), v.WithLabelValues("answered"), v.WithLabelValues("listed"), v.WithLabelValues("announced")}
}
