package dnsserver

import (
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

type metrics struct {
	own, refused, failed, malformed        prometheus.Counter
	forwarded, joined, busy, relayed, lost prometheus.Counter
	local                                  prometheus.Counter
	open                                   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	answers := in.Counters("respawnd_dns_answers_total", "Answers without an upstream: for names of services, refused, failed, to messages that are not questions.", "result")
	forwards := in.Counters("respawnd_dns_forwards_total", "Questions for upstreams: sent on, waiting for one under way, too many; answered, answered with private addresses that were taken out, given up.", "event")
	return &metrics{
		own:       answers.WithLabelValues("own"),
		refused:   answers.WithLabelValues("refused"),
		failed:    answers.WithLabelValues("failed"),
		malformed: answers.WithLabelValues("malformed"),
		forwarded: forwards.WithLabelValues("sent"),
		joined:    forwards.WithLabelValues("joined"),
		busy:      forwards.WithLabelValues("busy"),
		relayed:   forwards.WithLabelValues("answered"),
		lost:      forwards.WithLabelValues("unanswered"),
		local:     forwards.WithLabelValues("private"),
		open:      in.Gauge("respawnd_dns_forwards_open", "Questions to upstreams under way."),
	}
}

// count counts an answer without records.
func (m *metrics) count(code int) {
	switch code {
	case dns.RcodeFormatError, dns.RcodeNotImplemented, dns.RcodeBadVers:
		m.malformed.Inc()
	case dns.RcodeServerFailure:
		m.failed.Inc()
	default:
		m.refused.Inc()
	}
}
