package admin

import "github.com/prometheus/client_golang/prometheus"

// Reasons under which refused requests are counted.
const (
	refusedToken   = "token"       // no token, or a wrong one
	refusedQuery   = "query_token" // a token in the address
	refusedHost    = "host"        // an unknown host name
	refusedForgery = "forgery"     // a form that did not come from a page of the session
	refusedBody    = "body"        // a form that is too long or cannot be read
	refusedStreams = "streams"     // more readers of the log than maxStreams
)

// Results of logins to the page.
const (
	loginDone      = "done"
	loginWrong     = "wrong"
	loginThrottled = "throttled"
)

// metrics are the counters of this package.
type metrics struct {
	refused *prometheus.CounterVec
	logins  *prometheus.CounterVec
	streams prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, sessions func() int) *metrics {
	m := &metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_admin_refused_total", Help: "Requests refused, by reason.",
		}, []string{"reason"}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_admin_logins_total", Help: "Logins to the admin page, by result.",
		}, []string{"result"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "respawnd_admin_log_streams", Help: "Readers who watch the log.",
		}),
	}
	for _, reason := range []string{
		refusedToken, refusedQuery, refusedHost, refusedForgery, refusedBody, refusedStreams,
	} {
		m.refused.WithLabelValues(reason)
	}
	for _, result := range []string{loginDone, loginWrong, loginThrottled} {
		m.logins.WithLabelValues(result)
	}
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "respawnd_admin_page_sessions", Help: "Operators logged in to the admin page.",
	}, func() float64 { return float64(sessions()) })
	if reg != nil {
		reg.MustRegister(m.refused, m.logins, m.streams, open)
	}
	return m
}

// refuse counts a refusal.
func (m *metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }
