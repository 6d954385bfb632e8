package web

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons under which Options.Metrics counts what is refused.
const (
	dropRate   = "rate"      // more requests from one address than Policy.Rate
	dropMethod = "method"    // neither GET nor HEAD
	dropParam  = "parameter" // a parameter that is unknown or wrong
	dropBusy   = "busy"      // too much is being sent already
	// Event streams: more than Policy.MaxStreams, one that made room for that of
	// another address, more from one address than Policy.MaxStreamsPerAddr, a client
	// that did not read for streamWrite.
	dropStreams        = "streams_full"
	dropStreamEvicted  = "stream_evicted"
	dropStreamsPerAddr = "streams_per_address"
	dropSlowStream     = "stream_slow"

	// Forms: more from one address or account than Policy.Forms and the account's
	// own bound, more accounts than Policy.Registrations, not a form of ours or too
	// large, made by another page.
	dropForms         = "form_rate"
	dropRegistrations = "registration_rate"
	dropForm          = "form"
	dropForgery       = "form_forged"

	dropPanic = "panic" // the handler had a bug; the request is lost
)

// DropReasons returns the reasons under which the service counts what it
// refuses, for netserve.NewMetrics.
func DropReasons() []string {
	return []string{
		dropRate, dropMethod, dropParam, dropBusy, dropPanic, dropStreams, dropStreamEvicted, dropStreamsPerAddr, dropSlowStream,
		dropForms, dropRegistrations, dropForm, dropForgery,
	}
}

// codeClasses are the values of the label "code"; status/100 is the index.
var codeClasses = [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"}

// metrics are the counters of this package.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	panics   prometheus.Counter
	built    prometheus.Counter
	shared   prometheus.Counter
}

// newMetrics returns the counters. streams, remembered and sessions are asked
// when somebody reads the metrics.
func newMetrics(reg prometheus.Registerer, streams, remembered, sessions func() int) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_web_requests_total", Help: "Requests answered, by path and class of status code.",
		}, []string{"path", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "respawnd_web_request_duration_seconds", Help: "Time from the header of a request to its last byte handed over, by path.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		}, []string{"path"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_web_panics_total", Help: "Panics contained in handlers.",
		}),
		built: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_web_answers_built_total", Help: "Answers that had to be written anew.",
		}),
		shared: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_web_answers_shared_total", Help: "Answers that an earlier request had left ready.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.requests, m.duration, m.panics, m.built, m.shared,
			gauge("respawnd_web_event_streams", "Event streams that are open.", streams),
			gauge("respawnd_web_history_servers", "Servers whose numbers of players are remembered.", remembered),
			gauge("respawnd_web_account_sessions", "Players who are logged in on the pages.", sessions))
	}
	return m
}

func gauge(name, help string, value func() int) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

// answered counts one request. path is the pattern of a route, not what the
// client asked for.
func (m *metrics) answered(path string, status int, took time.Duration) {
	class := codeClasses[0]
	if i := status / 100; i > 0 && i < len(codeClasses) {
		class = codeClasses[i]
	}
	m.requests.WithLabelValues(path, class).Inc()
	if path != eventsPath { // a stream lasts as long as its client likes
		m.duration.WithLabelValues(path).Observe(took.Seconds())
	}
}
