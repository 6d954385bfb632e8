package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Reasons under which refused requests are counted.
const (
	refusedNoToken   = "no_token"    // no token
	refusedToken     = "token"       // a wrong one
	refusedTokenRate = "token_rate"  // a wrong one, beyond the limits of logins
	refusedQuery     = "query_token" // a token in the address
	refusedHost      = "host"        // an unknown host name
	refusedForgery   = "forgery"     // a form that did not come from a page of the session
	refusedBody      = "body"        // a form that is too long or cannot be read
	refusedStreams   = "streams"     // more readers of the log than maxStreams
	refusedProfiles  = "profiles"    // more profiles at a time than maxProfiles
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
	in := metric.With(reg)
	in.GaugeFunc("respawnd_admin_page_sessions", "Operators logged in to the admin page.", sessions)
	return &metrics{
		refused: in.Counters("respawnd_admin_refused_total", "Requests refused, by reason.", "reason",
			refusedNoToken, refusedToken, refusedTokenRate, refusedQuery, refusedHost, refusedForgery, refusedBody, refusedStreams, refusedProfiles),
		logins:  in.Counters("respawnd_admin_logins_total", "Logins to the admin page, by result.", "result", loginDone, loginWrong, loginThrottled),
		streams: in.Gauge("respawnd_admin_log_streams", "Readers who watch the log."),
	}
}

// refuse counts a refusal.
func (m *metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }
