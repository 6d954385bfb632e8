package zanmaster

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
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
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_zanmaster_received_total", "Packets taken from game servers and launchers, by kind.", "kind").WithLabelValues
	m.received.challenge = received("challenge")
	m.received.heartbeat = received("heartbeat")
	m.received.verification = received("verification")
	m.received.receipt = received("receipt")
	m.received.list = received("list")
	m.received.oldList = received("old_list")
	answers := in.Counters("respawnd_zanmaster_answers_total", "Answers to launchers and refused servers.", "answer").WithLabelValues
	m.answers.list = answers("list")
	m.answers.oldList = answers("old_list")
	m.answers.tooSoon = answers("too_soon")
	m.answers.banned = answers("banned")
	m.answers.wrongVersion = answers("wrong_version")
	bans := in.Counters("respawnd_zanmaster_ban_lists_total", "Ban lists to game servers: sent for the first time, sent again, acknowledged.", "result").WithLabelValues
	m.bans.sent = bans("sent")
	m.bans.repeated = bans("repeated")
	m.bans.received = bans("received")
	m.registered = in.Counter("respawnd_zanmaster_registrations_total", "Servers that verified their address and were listed.")
	m.requests = in.Counter("respawnd_zanmaster_verification_requests_total", "Verification requests sent, repeated ones included.")
	m.capped = in.Counter("respawnd_zanmaster_capped_lists_total", "Lists that were made without the servers that had no room in them.")
	m.writeErrors = in.Counter("respawnd_zanmaster_write_errors_total", "Packets that the system did not take.")
	return m
}
