package presence

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the numbers of a hub.
type metrics struct {
	delivered, refused, displaced prometheus.Counter
}

// newMetrics registers the numbers of l with r unless that is nil.
func newMetrics(r prometheus.Registerer, l *Local) *metrics {
	in := metric.With(r)
	in.GaugeFunc("respawnd_sessions", "Sessions of players who are signed in with their accounts.", l.Count)
	return &metrics{
		delivered: in.Counter("respawnd_presence_events_delivered_total", "Events that a session took into its queue."),
		refused:   in.Counter("respawnd_presence_events_refused_total", "Events that a session had no room for."),
		displaced: in.Counter("respawnd_presence_displaced_total", "Sessions that a newer login displaced."),
	}
}
