// Package metric makes the Prometheus metrics of a service. It does not build
// their names: each is written in full where it is made, so that a text search
// finds it.
package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Factory makes metrics and registers them. It panics on a name that is registered
// already.
type Factory struct{ promauto.Factory }

// With returns a Factory that registers with reg; nil: it registers nothing.
func With(reg prometheus.Registerer) Factory { return Factory{promauto.With(reg)} }

// Counter makes a counter.
func (f Factory) Counter(name, help string) prometheus.Counter {
	return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Counters makes counters that differ in a label. Those of the values exist
// from the start, at zero.
func (f Factory) Counters(name, help, label string, values ...string) *prometheus.CounterVec {
	v := f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		v.WithLabelValues(value)
	}
	return v
}

// Gauge makes a gauge.
func (f Factory) Gauge(name, help string) prometheus.Gauge {
	return f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// GaugeFunc makes a gauge that is read by calling value.
func (f Factory) GaugeFunc(name, help string, value func() int) {
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

// Labels are the values of a label, each declared once.
type Labels []string

// Add declares a value and returns it.
func (l *Labels) Add(value string) string {
	*l = append(*l, value)
	return value
}
