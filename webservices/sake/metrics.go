package sake

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/storage"
)

// metrics are the counters of the backend.
type metrics struct {
	results [len(resultNames)]prometheus.Counter
	scanned prometheus.Counter
	spent   prometheus.Counter
	leftOut [len(boundNames)]prometheus.Counter
	limited [len(limitNames)]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, count func() (storage.SakeCount, error)) *metrics {
	f := metric.With(reg)
	results := f.Counters("respawnd_webservices_sake_results_total", "Replies about SAKE records, by result.", "result", resultNames[:]...)
	m := &metrics{
		scanned: f.Counter("respawnd_webservices_sake_scanned_total", "SAKE records that searches looked at."),
		spent:   f.Counter("respawnd_webservices_sake_scan_limited_total", "Searches that were refused because they looked at too much."),
	}
	for i, name := range resultNames {
		m.results[i] = results.WithLabelValues(name)
	}
	leftOut := f.Counters("respawnd_webservices_sake_left_out_total", "Replies that lack SAKE records because they would be too large, by the bound.", "bound", boundNames[:]...)
	for i, name := range boundNames {
		m.leftOut[i] = leftOut.WithLabelValues(name)
	}
	limited := f.Counters("respawnd_webservices_sake_rate_limited_total", "SAKE requests that were refused because a player sent too many, by the bound.", "bound", limitNames[:]...)
	for i, name := range limitNames {
		m.limited[i] = limited.WithLabelValues(name)
	}
	counted := metric.Slow(count)
	f.GaugeFunc("respawnd_webservices_sake_records", "SAKE records that are stored.", func() int { return counted().Records })
	f.GaugeFunc("respawnd_webservices_sake_record_bytes", "Bytes of the SAKE records that are stored.", func() int { return int(counted().Bytes) })
	return m
}

func (m *metrics) count(r result) { m.results[r].Inc() }
