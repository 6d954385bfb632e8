package valvemaster

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the counters of this package. They are resolved once, so that
// counting a packet costs one addition.
type metrics struct {
	received struct {
		challenge, heartbeat, goodbye, list prometheus.Counter
	}
	pages struct {
		small, full prometheus.Counter
	}
	challenges, registered, unknownKeys, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, hosts, walks func() int) *metrics {
	m := &metrics{}
	in := promauto.With(reg) // nil: they are not registered
	vec := func(name, help, label string) func(string) prometheus.Counter {
		v := in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		return func(value string) prometheus.Counter { return v.WithLabelValues(value) }
	}
	one := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string, value func() int) {
		in.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	received := vec("respawnd_valvemaster_received_total", "Messages taken from game servers and browsers, by kind.", "kind")
	m.received.challenge = received("challenge_request")
	m.received.heartbeat = received("heartbeat")
	m.received.goodbye = received("goodbye")
	m.received.list = received("list")
	pages := vec("respawnd_valvemaster_pages_total", "Pages of the list that were sent: small ones to sources that have not proved that they receive them, and full ones.", "size")
	m.pages.small = pages("small")
	m.pages.full = pages("full")
	m.challenges = one("respawnd_valvemaster_challenges_total", "Challenges sent to game servers.")
	m.registered = one("respawnd_valvemaster_registrations_total", "Servers that proved their address and were handed on to be asked.")
	m.unknownKeys = one("respawnd_valvemaster_unknown_filter_keys_total", "Keys in filters of browsers that were ignored because they are not known.")
	m.writeErrors = one("respawnd_valvemaster_write_errors_total", "Packets that the system did not take.")
	gauge("respawnd_valvemaster_hosts", "Servers that send heartbeats, listed or not.", hosts)
	gauge("respawnd_valvemaster_walks", "Sources whose last page is remembered.", walks)
	return m
}
