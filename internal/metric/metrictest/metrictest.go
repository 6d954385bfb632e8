// Package metrictest reads single metrics for tests. It declares none.
package metrictest

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Find returns the sum of the counters and gauges of a name whose labels have all the
// given values, and whether there are any.
func Find(t testing.TB, g prometheus.Gatherer, name string, values ...string) (sum float64, found bool) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(have, v) }) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				found = true
			}
		}
	}
	return sum, found
}

// Value is Find for metrics that must be there.
func Value(t testing.TB, g prometheus.Gatherer, name string, values ...string) float64 {
	t.Helper()
	v, found := Find(t, g, name, values...)
	if !found {
		t.Fatalf("there is no metric %s%q", name, values)
	}
	return v
}

// Dropped returns how many packets or connections were dropped for a reason. A reason
// that is not there fails the test.
func Dropped(t testing.TB, g prometheus.Gatherer, reason string) int {
	t.Helper()
	return int(Value(t, g, "respawnd_dropped_total", reason))
}
