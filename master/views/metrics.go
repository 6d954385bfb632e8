package views

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Metrics are the numbers of a service that keeps lists in a Cache.
type Metrics struct {
	Entries, Ignored prometheus.Counter

	builds       prometheus.Counter
	build        prometheus.Histogram
	views, bytes prometheus.Gauge
}

// NewMetrics makes the metrics of a service, whose name is part of theirs. With a
// nil reg they are not registered.
func NewMetrics(reg prometheus.Registerer, service string) Metrics {
	in, prefix := metric.With(reg), "respawnd_"+service+"_"
	return Metrics{
		Entries: in.Counter(prefix+"list_entries_total", "Servers and rooms in the lists sent."),
		Ignored: in.Counter(prefix+"filters_ignored_total", "Filters that were not understood and ignored."),
		builds:  in.Counter(prefix+"view_builds_total", "Lists built."),
		build: in.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "view_build_seconds", Help: "Time to build a list.", Buckets: prometheus.ExponentialBuckets(0.00005, 4, 8),
		}),
		views: in.Gauge(prefix+"views", "Lists kept for the next request."),
		bytes: in.Gauge(prefix+"view_bytes", "Size of the lists kept."),
	}
}

// Built counts a list that took so long to build.
func (m *Metrics) Built(took time.Duration) {
	m.builds.Inc()
	m.build.Observe(took.Seconds())
}

// Kept notes how many lists are kept, and their bytes. It is for Options.Kept.
func (m *Metrics) Kept(views, bytes int) {
	m.views.Set(float64(views))
	m.bytes.Set(float64(bytes))
}
