package presence

import "github.com/prometheus/client_golang/prometheus"

// metrics are the numbers of a hub.
type metrics struct {
	delivered, refused, displaced prometheus.Counter
}

// newMetrics registers the numbers of l with r unless that is nil.
func newMetrics(r prometheus.Registerer, l *Local) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "respawnd_presence_" + name, Help: help})
	}
	m := &metrics{
		delivered: counter("events_delivered_total", "Events that a session took into its queue."),
		refused:   counter("events_refused_total", "Events that a session had no room for."),
		displaced: counter("displaced_total", "Sessions that a newer login displaced."),
	}
	if r != nil {
		sessions := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "respawnd_presence_sessions", Help: "Sessions that are signed in.",
		}, func() float64 { return float64(l.Count()) })
		r.MustRegister(m.delivered, m.refused, m.displaced, sessions)
	}
	return m
}
