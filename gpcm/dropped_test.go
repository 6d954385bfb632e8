package gpcm

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
)

// dropped counts messages that the service drops.
type dropped struct {
	registry *prometheus.Registry
	metrics  *netserve.Metrics
}

func newDropped() *dropped {
	r := prometheus.NewRegistry()
	return &dropped{r, netserve.NewMetrics(r, "gpcm", DropReasons()...)}
}

// count returns how often something was dropped for a reason.
func (d *dropped) count(t testing.TB, reason ended) int {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "respawnd_dropped_total" && l.GetValue() == reason.Error() {
					return int(m.GetCounter().GetValue())
				}
			}
		}
	}
	t.Fatalf("no counter for %q", reason)
	return 0
}

// connections returns how many connections are served.
func (d *dropped) connections(t testing.TB) int {
	t.Helper()
	families, err := d.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "respawnd_connections" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatal("no gauge of connections")
	return 0
}
