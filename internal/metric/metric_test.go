package metric

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestFactory(t *testing.T) {
	fill := func(reg prometheus.Registerer) {
		f := With(reg)
		f.Counter("a_total", "A.").Inc()
		f.Counters("b_total", "B.", "label", "x", "y").WithLabelValues("x").Inc()
		f.Gauge("c", "C.").Set(3)
		f.GaugeFunc("d", "D.", func() int { return 4 })
	}
	fill(nil)
	fill(nil) // nothing is registered twice
	reg := prometheus.NewRegistry()
	fill(reg)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, family := range families {
		for _, m := range family.GetMetric() {
			got = append(got, m.GetCounter().GetValue()+m.GetGauge().GetValue())
		}
	}
	if want := []float64{1, 1, 0, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}
