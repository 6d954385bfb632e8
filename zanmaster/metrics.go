package zanmaster

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		challenge, heartbeat, verification, receipt, list, oldList prometheus.Counter
	}
	answers struct {
		list, oldList, tooSoon, banned, wrongVersion prometheus.Counter
	}
	bans struct {
		sent, repeated, received prometheus.Counter
	}
	registered, requests, capped, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{}
	in := promauto.With(reg) // nil: they are not registered
	vec := func(name, help, label string) func(string) prometheus.Counter {
		v := in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		return func(value string) prometheus.Counter { return v.WithLabelValues(value) }
	}
	one := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	received := vec("respawnd_zanmaster_received_total", "Packets taken from game servers and launchers, by kind.", "kind")
	m.received.challenge = received("challenge")
	m.received.heartbeat = received("heartbeat")
	m.received.verification = received("verification")
	m.received.receipt = received("receipt")
	m.received.list = received("list")
	m.received.oldList = received("old_list")
	answers := vec("respawnd_zanmaster_answers_total", "Answers to launchers and refused servers.", "answer")
	m.answers.list = answers("list")
	m.answers.oldList = answers("old_list")
	m.answers.tooSoon = answers("too_soon")
	m.answers.banned = answers("banned")
	m.answers.wrongVersion = answers("wrong_version")
	bans := vec("respawnd_zanmaster_ban_lists_total", "Ban lists to game servers: sent for the first time, sent again, acknowledged.", "result")
	m.bans.sent = bans("sent")
	m.bans.repeated = bans("repeated")
	m.bans.received = bans("received")
	m.registered = one("respawnd_zanmaster_registrations_total", "Servers that verified their address and were listed.")
	m.requests = one("respawnd_zanmaster_verification_requests_total", "Verification requests sent, repeated ones included.")
	m.capped = one("respawnd_zanmaster_capped_lists_total", "Lists that were made without the servers that had no room in them.")
	m.writeErrors = one("respawnd_zanmaster_write_errors_total", "Packets that the system did not take.")
	return m
}
