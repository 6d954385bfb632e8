package nas

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Requests, as metrics name them.
const (
	requestTest     = "conntest"
	requestCreate   = "acctcreate"
	requestLogin    = "login"
	requestLocate   = "svcloc"
	requestWords    = "pr"
	requestCount    = "count"
	requestList     = "list"
	requestContents = "contents"
	requestOther    = "other"
)

// Results of requests, as metrics name them.
const (
	resultOK        = "ok"
	resultMalformed = "malformed" // the body is no form
	resultBadField  = "bad_field"
	resultUnknown   = "unknown" // there is no such action or path
	resultBanned    = "banned"  // the account is
	resultClosed    = "closed"  // the console is new, and new ones are not accepted
	resultThrottled = "throttled"
	resultDeleted   = "deleted" // the profile was
	resultNotFound  = "not_found"
	resultCut       = "cut_off" // the client did not read the whole file
	resultFailed    = "failed"  // the store or the disk failed
)

// metrics are the counters of the backend.
type metrics struct {
	requests *prometheus.CounterVec // request, result
	sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := metric.With(reg)
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_webservices_nas_total", Help: "Requests of consoles of Nintendo, by result.",
		}, []string{"request", "result"}),
		sent: f.Counter("respawnd_webservices_nas_sent_bytes_total", "Size of files that consoles of Nintendo downloaded."),
	}
}

// done counts a request.
func (r *Backend) done(request, result string) {
	r.metrics.requests.WithLabelValues(request, result).Inc()
}
