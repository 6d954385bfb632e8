package gpcm

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
)

// dropped counts messages that the service drops.
type dropped struct {
	registry *prometheus.Registry
	metrics  *netserve.Metrics
}

func newDropped() *dropped {
	r := prometheus.NewRegistry()
	return &dropped{r, netserve.NewMetrics(r, "gpcm", reasons...)}
}

// count returns how often something was dropped for a reason.
func (d *dropped) count(t testing.TB, reason ended) int {
	t.Helper()
	return metrictest.Dropped(t, d.registry, reason.Error())
}

// connections returns how many connections are served.
func (d *dropped) connections(t testing.TB) int {
	t.Helper()
	return int(metrictest.Value(t, d.registry, "respawnd_connections"))
}
