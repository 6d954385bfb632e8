package probe

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Labels of the metrics.
const (
	resultAnswered = "answered"
	resultDenied   = "denied"
	resultSilent   = "silent"
	resultTooMuch  = "too_much"

	refusedAddress = "address"      // forbidden address
	refusedFull    = "full"         // too many are watched
	refusedHost    = "per_address"  // too many are watched there
	refusedBusy    = "busy"         // too many callers
	refusedGame    = "game"         // no game, or too many unknown ones
	refusedList    = "list"         // the list has no room
	refusedElse    = "listed_by_it" // reports by itself
)

type metrics struct {
	sent     prometheus.Counter
	visits   *prometheus.CounterVec // by protocol and result
	refusals *prometheus.CounterVec // by reason
}

// newMetrics makes the counters. counts returns how many servers are watched, by kind.
func newMetrics(reg prometheus.Registerer, counts func() map[string]int) *metrics {
	in := metric.With(reg)
	if reg != nil {
		reg.MustRegister(&targetCollector{counts, prometheus.NewDesc(
			"respawnd_probe_targets", "Servers that are queried, by kind, and queries under way. Kinds: named by an operator (static), of other origins (watched), of masters that have their servers queried.",
			[]string{"kind"}, nil,
		)})
	}
	return &metrics{
		sent: in.Counter("respawnd_probe_packets_sent_total", "Packets sent to game servers to ask them."),
		visits: in.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_probe_visits_total", Help: "Queries of game servers, by protocol and result.",
		}, []string{"protocol", "result"}),
		refusals: in.Counters("respawnd_probe_refused_total", "Servers that were not watched, asked or listed, by reason.", "reason"),
	}
}
func (m *metrics) refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

// targetCollector reads the table of targets when collected.
type targetCollector struct {
	counts func() map[string]int // by kind
	desc   *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *targetCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector.
func (c *targetCollector) Collect(out chan<- prometheus.Metric) {
	for kind, n := range c.counts() {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), kind)
	}
}
