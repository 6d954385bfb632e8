package webservices

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Reasons for which requests are dropped.
const (
	droppedRate      = "rate"           // more than the address may send
	droppedBanned    = "banned"         // the address is banned
	droppedUnknown   = "unknown"        // no backend has the host and the path
	droppedVerb      = "http_method"    // the path knows no such method of HTTP
	droppedLarge     = "too_large"      // the body is larger than the request may be
	droppedBusy      = "busy"           // too many bytes of bodies are in memory
	droppedCut       = "cut_off"        // the body ended early or came too slowly
	droppedMalformed = "malformed"      // the body is not a request
	droppedMethod    = "unknown_method" // the backend has no such method
	droppedPanic     = "panic"
)

// DropReasons returns the reasons under which the service counts requests that it
// does not execute.
func DropReasons() []string {
	return []string{
		droppedRate, droppedBanned, droppedUnknown, droppedVerb, droppedLarge, droppedBusy, droppedCut, droppedMalformed, droppedMethod,
		droppedPanic,
	}
}

// metrics are the counters of all backends.
type metrics struct {
	requests *prometheus.CounterVec // request
	unknown  *prometheus.CounterVec // host
	repaired prometheus.Counter

	mismatched prometheus.Counter // the body decides

	handshakes *prometheus.CounterVec // outcome
}

func newMetrics(reg prometheus.Registerer, requests, hosts []string, pending func() int) *metrics {
	f := metric.With(reg)
	f.GaugeFunc("respawnd_webservices_handshakes", "Handshakes of SSL 3.0 under way.", pending)
	return &metrics{
		requests: f.Counters("respawnd_webservices_requests_total", "Requests that were executed, by method or page.", "request", requests...),
		unknown: f.Counters("respawnd_webservices_unknown_total", "Requests for hosts and paths that do not exist, by form of the host.",
			"host", append(slices.Clone(hosts), otherHost)...),
		mismatched: f.Counter("respawnd_webservices_mismatched_total", "Requests whose SOAPAction names another method than their body, which decides."),
		repaired:   f.Counter("respawnd_webservices_repaired_total", "Host lines that were removed from requests because they came twice."),
		handshakes: f.Counters("respawnd_webservices_handshakes_total", "Handshakes of SSL 3.0, by how they ended.", "outcome", outcomes()...),
	}
}
