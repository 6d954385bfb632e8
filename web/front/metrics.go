package front

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Reasons under which Options.Metrics counts requests that are refused.
const (
	dropRate   = "rate"   // more from one address than SetLimits allows
	dropMethod = "method" // neither GET nor HEAD
	dropBusy   = "busy"   // too much is being sent already
	dropPanic  = "panic"  // the handler had a bug; the request is lost

	DropParam = "parameter" // a parameter that is unknown or wrong
)

// DropReasons returns the reasons for netserve.NewMetrics.
func DropReasons() []string { return []string{dropRate, dropMethod, DropParam, dropBusy, dropPanic} }

// codeClasses are the values of the label "code"; status/100 is the index.
var codeClasses = [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"}

type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	panics   prometheus.Counter
	built    prometheus.Counter
	shared   prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	return &metrics{
		requests: in.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_web_requests_total", Help: "Requests answered, by path and class of status code.",
		}, []string{"path", "code"}),
		duration: in.NewHistogramVec(prometheus.HistogramOpts{
			Name: "respawnd_web_request_duration_seconds", Help: "Time from the header of a request to its last byte handed over, by path.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		}, []string{"path"}),
		panics: in.Counter("respawnd_web_panics_total", "Panics contained in handlers."),
		built:  in.Counter("respawnd_web_answers_built_total", "Answers that were written, not found in a cache."),
		shared: in.Counter("respawnd_web_answers_shared_total", "Answers that were found in a cache."),
	}
}

// Gauge registers a gauge whose value is computed when the metrics are read.
func (f *Front) Gauge(name, help string, value func() int) {
	metric.With(f.opt.Registerer).GaugeFunc(name, help, value)
}

// Counters registers counters that differ in a label.
func (f *Front) Counters(name, help, label string, values ...string) *prometheus.CounterVec {
	return metric.With(f.opt.Registerer).Counters(name, help, label, values...)
}

// answered counts one request. path is the pattern of a route, not the
// requested path.
func (m *metrics) answered(path string, status int, took time.Duration) {
	class := codeClasses[0]
	if i := status / 100; i > 0 && i < len(codeClasses) {
		class = codeClasses[i]
	}
	m.requests.WithLabelValues(path, class).Inc()
	if path != EventsPath { // a stream lasts as long as its client likes
		m.duration.WithLabelValues(path).Observe(took.Seconds())
	}
}
