package peerchat

import (
	"github.com/prometheus/client_golang/prometheus"
)

// unknownCommand is the label of commands that are not in the table.
const unknownCommand = "unknown"

// Results of a login.
const (
	loginAccepted = "accepted"
	loginRefused  = "refused"
)

// metrics are the counters of the service; netserve.Metrics counts drops.
type metrics struct {
	commands  *prometheus.CounterVec // command
	logins    *prometheus.CounterVec // result
	messages  *prometheus.CounterVec // to
	delivered prometheus.Counter

	linkDrops    *prometheus.CounterVec // reason
	linkCommands prometheus.Counter
}

// Reasons to drop messages between nodes.
const (
	linkMalformed   = "malformed" // or of another version
	linkUnknownNode = "unknown_node"
	linkTooLong     = "too_long"
	linkUnsent      = "not_sent"
	linkPanic       = "panic"
)

func newMetrics(reg prometheus.Registerer, h *hall) *metrics {
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "respawnd", Subsystem: "peerchat", Name: name, Help: help}
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), []string{label})
	}
	m := &metrics{
		commands:  vec("commands_total", "Commands of clients.", "command"),
		logins:    vec("logins_total", "Logins with an account.", "result"),
		messages:  vec("messages_total", "Messages of clients.", "to"),
		delivered: prometheus.NewCounter(prometheus.CounterOpts(opts("messages_delivered_total", "Messages queued for receivers."))),
	}
	m.linkDrops = vec("cluster_dropped_total", "Messages between nodes that were dropped.", "reason")
	m.linkCommands = prometheus.NewCounter(prometheus.CounterOpts(opts("cluster_commands_total", "Commands of clients of other nodes.")))
	for _, reason := range []string{linkMalformed, linkUnknownNode, linkTooLong, linkUnsent, linkPanic} {
		m.linkDrops.WithLabelValues(reason)
	}
	for c := range commandTable() {
		m.commands.WithLabelValues(c)
	}
	m.commands.WithLabelValues(unknownCommand)
	for _, result := range []string{loginAccepted, loginRefused} {
		m.logins.WithLabelValues(result)
	}
	for _, to := range []string{"channel", "user"} {
		m.messages.WithLabelValues(to)
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.commands, m.logins, m.messages, m.delivered, m.linkDrops, m.linkCommands)
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(opts("users", "Clients that are signed on.")), func() float64 {
		return float64(h.users.Load())
	}))
	for kind := range kindNames {
		o := opts("channels", "Channels with members.")
		o.ConstLabels = prometheus.Labels{"kind": kindNames[kind]}
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), func() float64 {
			return float64(h.kinds[kind].Load())
		}))
	}
	return m
}
