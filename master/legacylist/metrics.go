package legacylist

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/master/views"
)

// Results of answered requests; netserve.Metrics counts refused ones.
const (
	listSent    = "sent"
	listUnknown = "unknown_game"
	listShared  = "shared" // with another master
)

// metrics are the counters of the service.
type metrics struct {
	clients     *prometheus.CounterVec // enctype
	validations *prometheus.CounterVec // result
	lists       *prometheus.CounterVec // result
	views       views.Metrics
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	return &metrics{
		clients:     in.Counters("respawnd_legacylist_requests_total", "Requests by the encryption that the client wants.", "enctype", "0", "1", "2"),
		validations: in.Counters("respawnd_legacylist_validations_total", "Answers to the greeting.", "result", "right", "wrong"),
		lists:       in.Counters("respawnd_legacylist_lists_total", "Lists sent.", "result", listSent, listUnknown, listShared),
		views:       views.NewMetrics(reg, "legacylist"),
	}
}

// client counts a request; enctype is 0 to maxEnctype.
func (m *metrics) client(enctype int) { m.clients.WithLabelValues(strconv.Itoa(enctype)).Inc() }

func (m *metrics) validation(right bool) {
	result := "wrong"
	if right {
		result = "right"
	}
	m.validations.WithLabelValues(result).Inc()
}

func (m *metrics) list(result string) { m.lists.WithLabelValues(result).Inc() }

func (m *metrics) sent(v *view) {
	m.list(listSent)
	m.views.Entries.Add(float64(v.Rows))
}
