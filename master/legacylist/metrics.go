package legacylist

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Results of answered requests; netserve.Metrics counts refused ones.
const (
	listSent    = "sent"
	listUnknown = "unknown_game"
)

// metrics are the counters of the service.
type metrics struct {
	clients     *prometheus.CounterVec // enctype
	validations *prometheus.CounterVec // result
	lists       *prometheus.CounterVec // result
	entries     prometheus.Counter
	builds      prometheus.Counter
	build       prometheus.Histogram
	ignored     prometheus.Counter
	views       prometheus.Gauge
	bytes       prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	const namespace, subsystem = "respawnd", "legacylist"
	vec := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: name, Help: help,
		}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
	}
	m := &metrics{
		clients:     vec("requests_total", "Requests by the encryption that the client wants.", "enctype", "0", "1", "2"),
		validations: vec("validations_total", "Answers to the greeting.", "result", "right", "wrong"),
		lists:       vec("lists_total", "Lists sent.", "result", listSent, listUnknown),
		entries:     counter("list_entries_total", "Servers and rooms in the lists sent."),
		builds:      counter("view_builds_total", "Lists built."),
		ignored:     counter("filters_ignored_total", "Filters that were not understood and ignored."),
		build: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "view_build_seconds",
			Help: "Time to build a list.", Buckets: prometheus.ExponentialBuckets(0.00005, 4, 8),
		}),
		views: gauge("views", "Lists kept for the next request."),
		bytes: gauge("view_bytes", "Size of the lists kept."),
	}
	if reg != nil {
		reg.MustRegister(m.clients, m.validations, m.lists, m.entries, m.builds, m.build, m.ignored, m.views, m.bytes)
	}
	return m
}

// client counts a request; enctype is 0 to maxEnctype.
func (m *metrics) client(enctype int) { m.clients.WithLabelValues(strconv.Itoa(enctype)).Inc() }

func (m *metrics) validation(right bool) {
	result := "wrong"
	if right {
		result = "right"
	}
	m.validations.WithLabelValues(result).Inc()
}

func (m *metrics) list(result string) { m.lists.WithLabelValues(result).Inc() }

func (m *metrics) sent(v *view) {
	m.list(listSent)
	m.entries.Add(float64(v.rows))
}

func (m *metrics) built(v *view) {
	m.builds.Inc()
	m.build.Observe(v.took.Seconds())
}

func (m *metrics) kept(views, bytes int) {
	m.views.Set(float64(views))
	m.bytes.Set(float64(bytes))
}
