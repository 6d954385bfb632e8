package peerchat

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
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
	linkMalformed = "malformed" // or of another version
	linkTooLong   = "too_long"
	linkUnsent    = "not_sent"
	linkPanic     = "panic"
)

func newMetrics(reg prometheus.Registerer, h *hall) *metrics {
	in := metric.With(reg)
	m := &metrics{
		commands:     in.Counters("respawnd_peerchat_commands_total", "Commands of clients.", "command", unknownCommand),
		logins:       in.Counters("respawnd_peerchat_logins_total", "Logins with an account.", "result", loginAccepted, loginRefused),
		messages:     in.Counters("respawnd_peerchat_messages_total", "Messages of clients.", "to", "channel", "user"),
		delivered:    in.Counter("respawnd_peerchat_messages_delivered_total", "Messages queued for receivers."),
		linkCommands: in.Counter("respawnd_peerchat_cluster_commands_total", "Commands of clients of other nodes."),
		linkDrops: in.Counters("respawnd_peerchat_cluster_dropped_total", "Messages between nodes that were dropped.", "reason",
			linkMalformed, linkTooLong, linkUnsent, linkPanic),
	}
	for c := range commandTable() {
		m.commands.WithLabelValues(c)
	}
	in.GaugeFunc("respawnd_peerchat_users", "Clients that are signed on.", func() int { return int(h.users.Load()) })
	for kind := range kindNames {
		in.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "respawnd_peerchat_channels", Help: "Channels with members.", ConstLabels: prometheus.Labels{"kind": kindNames[kind]},
		}, func() float64 { return float64(h.kinds[kind].Load()) })
	}
	return m
}
