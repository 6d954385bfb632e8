package presence

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// metrics are the numbers of a hub.
type metrics struct {
	delivered, refused, displaced, putBack, lost prometheus.Counter
}

// newMetrics registers the numbers of l with r unless that is nil.
func newMetrics(r prometheus.Registerer, l *Local) *metrics {
	in := metric.With(r)
	in.GaugeFunc("respawnd_sessions", "Sessions of players who are signed in with their accounts.", l.Count)
	in.GaugeFunc("respawnd_presence_unstored_messages", "Messages that did not reach their receivers and wait for the database.", l.len)
	return &metrics{
		delivered: in.Counter("respawnd_presence_events_delivered_total", "Events that a session took into its queue."),
		refused:   in.Counter("respawnd_presence_events_refused_total", "Events that a session had no room for."),
		displaced: in.Counter("respawnd_presence_displaced_total", "Sessions that a newer login displaced."),
		putBack:   in.Counter("respawnd_presence_put_back_total", "Messages that were stored because they did not reach their receivers."),
		lost:      in.Counter("respawnd_presence_lost_total", "Messages that did not reach their receivers and could not be stored."),
	}
}
