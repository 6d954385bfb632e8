package dnsserver

import (
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the counters of this package.
type metrics struct {
	own, refused, failed, malformed        prometheus.Counter
	forwarded, joined, busy, relayed, lost prometheus.Counter
	local                                  prometheus.Counter
	open                                   prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_dns_answers_total", Help: "Answers without an upstream: for names of services, refused, failed, to what was no question.",
	}, []string{"result"})
	forwards := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_dns_forwards_total", Help: "Questions for upstreams: sent on, waiting for one under way, too many; answered, answered with private addresses that were taken out, given up.",
	}, []string{"event"})
	open := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "respawnd_dns_forwards_open", Help: "Questions to upstreams under way.",
	})
	if reg != nil {
		reg.MustRegister(answers, forwards, open)
	}
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
		open:      open,
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
