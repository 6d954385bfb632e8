package netserve

import (
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestServicesShareOneRegistry(t *testing.T) {
	reg := prometheus.NewRegistry()
	a, b := NewMetrics(reg, "a", "known"), NewMetrics(reg, "b")
	a.received(1, 10)
	b.received(1, 1)
	b.received(1, 2)
	a.Drop("known")
	b.Drop("new")
	b.Drop("new")
	for _, tc := range []struct {
		name, service, reason string
		want                  float64
	}{
		{"respawnd_packets_received_total", "a", "", 1},
		{"respawnd_bytes_received_total", "a", "", 10},
		{"respawnd_packets_received_total", "b", "", 2},
		{"respawnd_bytes_received_total", "b", "", 3},
		{"respawnd_dropped_total", "a", "known", 1},
		{"respawnd_dropped_total", "b", "known", 0},
		{"respawnd_dropped_total", "b", "new", 2},
	} {
		if got := value(t, reg, tc.name, tc.service, tc.reason); got != tc.want {
			t.Errorf("%s{service=%q,reason=%q} = %v, want %v", tc.name, tc.service, tc.reason, got, tc.want)
		}
	}
}

func TestReasonsGivenAtTheStartAreShownAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	NewMetrics(reg, "test", "one", "two")
	if got := dropReasons(t, reg); got != 2 {
		t.Errorf("%d reasons are shown, want 2", got)
	}
}

// dropReasons returns how many reasons are shown.
func dropReasons(t *testing.T, reg *prometheus.Registry) int {
	t.Helper()
	n, err := testutil.GatherAndCount(reg, "respawnd_dropped_total")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDropReasonsAreBounded(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg, "test")
	for i := range maxDropReasons + 10 {
		m.Drop("reason " + strconv.Itoa(i))
	}
	if got, want := dropReasons(t, reg), maxDropReasons+1; got != want {
		t.Errorf("%d reasons are shown, want %d", got, want)
	}
	wantValue(t, reg, "respawnd_dropped_total", dropOther, 10)
}

func TestCountingDoesNotAllocate(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry(), "test")
	m.Drop("reason")
	if got := testing.AllocsPerRun(100, func() {
		m.Drop("reason")
		m.received(1, 1000)
		m.sent(1, 7)
	}); got != 0 {
		t.Errorf("counting allocates %v times, want 0", got)
	}
}

func TestNilMetricsCountNothing(t *testing.T) {
	var m *Metrics
	m.Drop("reason")
	m.received(1, 1)
	m.sent(1, 1)
	m.read(1)
	m.wrote(1)
	m.panicked()
	m.Opened()
	m.Closed()
	m.admitted(&Admission{Refused: RefusedFull})
}

func TestForeignMetricOfTheSameNamePanics(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "respawnd_panics_total", Help: "Else."}))
	defer func() {
		if recover() == nil {
			t.Error("NewMetrics on a registry with another respawnd_panics_total did not panic")
		}
	}()
	NewMetrics(reg, "test")
}
