package federation

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Results of a reading.
const (
	resultRead      = "read"
	resultUnchanged = "unchanged"
	resultFailed    = "failed"
)

// metrics are the counters of this package. Names of masters come from the configuration.
type metrics struct {
	reads    *prometheus.CounterVec // by master and result
	refusals *prometheus.CounterVec // by master and reason
	success  *prometheus.GaugeVec   // by master: time of the last success
	made     *prometheus.GaugeVec   // by snapshot: when its list was made
}

// newMetrics makes the counters. told returns the number of servers that each master names.
func newMetrics(reg prometheus.Registerer, told func() map[string]int) *metrics {
	in := metric.With(reg)
	if reg != nil {
		reg.MustRegister(&toldCollector{told, prometheus.NewDesc(
			"respawnd_federation_servers", "Servers that another master lists, by master, without the refused ones.", []string{"master"}, nil,
		)})
	}
	return &metrics{
		reads: in.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_federation_reads_total", Help: "Readings of other masters, by master and result.",
		}, []string{"master", "result"}),
		refusals: in.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_federation_refused_total", Help: "Entries in lists of other masters that were refused, by master and reason.",
		}, []string{"master", "reason"}),
		success: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "respawnd_federation_last_success_timestamp_seconds", Help: "When another master was last read without an error, Unix time; 0: never.",
		}, []string{"master"}),
		made: in.NewGaugeVec(prometheus.GaugeOpts{
			Name: "respawnd_federation_made_timestamp_seconds", Help: "When the list of a snapshot was made that is shown here, by master, Unix time.",
		}, []string{"master"}),
	}
}

// begin makes the series of a master.
func (m *metrics) begin(name string) {
	for _, result := range []string{resultRead, resultUnchanged, resultFailed} {
		m.reads.WithLabelValues(name, result)
	}
	for _, why := range reasons() {
		m.refusals.WithLabelValues(name, why)
	}
	m.success.WithLabelValues(name)
}

// end removes the series of a master.
func (m *metrics) end(name string) {
	l := prometheus.Labels{"master": name}
	m.reads.DeletePartialMatch(l)
	m.refusals.DeletePartialMatch(l)
	m.success.DeletePartialMatch(l)
	m.made.DeletePartialMatch(l)
}

// toldCollector counts candidates when collected.
type toldCollector struct {
	told func() map[string]int
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *toldCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c *toldCollector) Collect(out chan<- prometheus.Metric) {
	for name, n := range c.told() {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), name)
	}
}
