package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
)

// Reasons of lost events.
const (
	dropQueueFull   = "queue_full"  // the hook has queueLen events waiting
	dropUndelivered = "undelivered" // refused, or tried maxAttempts times
	dropRate        = "rate"        // more lines of a chat room than a hook may get
	dropStopped     = "stopped"     // the daemon stopped, or the hook was taken away
)

// dropReasons returns the reasons of lost events.
func dropReasons() []string { return []string{dropQueueFull, dropUndelivered, dropRate, dropStopped} }

// metrics are the counters of this package. There is no label for the hook: the
// operator chooses its name.
type metrics struct {
	events                     []prometheus.Counter // by Kind
	delivered, retried, failed prometheus.Counter
	dropped                    *netserve.Metrics
}

func newMetrics(reg prometheus.Registerer, queued func() int) *metrics {
	in := metric.With(reg)
	events := in.Counters("respawnd_webhook_events_total", "Events put into the queue of a webhook, by kind.", "kind")
	requests := in.Counters("respawnd_webhook_requests_total", "Requests to webhooks, by result: delivered, retried, failed.", "result")
	in.GaugeFunc("respawnd_webhook_queue_events", "Events that wait for their webhook.", queued)
	m := &metrics{
		delivered: requests.WithLabelValues("delivered"), retried: requests.WithLabelValues("retried"), failed: requests.WithLabelValues("failed"),
		dropped: netserve.NewMetrics(reg, "webhook", dropReasons()...),
	}
	for _, kind := range kindNames() {
		m.events = append(m.events, events.WithLabelValues(kind))
	}
	return m
}

// drop counts lost events. Without hooks, m is nil, nothing is lost.
func (m *metrics) drop(reason string, events int) {
	if m == nil {
		return
	}
	for range events {
		m.dropped.Drop(reason)
	}
}
