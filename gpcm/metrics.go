package gpcm

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Results of a message between players.
const (
	messageSent    = "sent"
	messageStored  = "stored"
	messageOffline = "offline"
	messageRefused = "refused"
	messageBlocked = "blocked"

	// What was sent and did not arrive.
	messageReturned = "returned" // it waits now
	messageLost     = "lost"
)

// unknownCommand is what metrics call a command that is not in the table.
const unknownCommand = "unknown"

// metrics are the counters of the service; what it drops is counted by
// netserve.Metrics, and who is signed in by internal/presence.
type metrics struct {
	commands *prometheus.CounterVec // command
	errors   *prometheus.CounterVec // code
	messages *prometheus.CounterVec // result
	renewed  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "respawnd", Subsystem: "gpcm", Name: name, Help: help,
		}, []string{label})
	}
	m := &metrics{
		commands: vec("commands_total", "Commands of clients.", "command"),
		errors:   vec("errors_total", "Errors sent to clients, by their code.", "code"),
		messages: vec("messages_total", "Messages between players.", "result"),
		renewed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "respawnd", Subsystem: "gpcm", Name: "tickets_renewed_total",
			Help: "Login tickets that were sent to clients in place of older ones.",
		}),
	}
	m.commands.WithLabelValues(unknownCommand)
	for _, result := range []string{messageSent, messageStored, messageOffline, messageRefused, messageBlocked, messageReturned, messageLost} {
		m.messages.WithLabelValues(result)
	}
	if reg != nil {
		reg.MustRegister(m.commands, m.errors, m.messages, m.renewed)
	}
	return m
}

func (m *metrics) message(result string) { m.messages.WithLabelValues(result).Inc() }
func (m *metrics) refused(c code)        { m.errors.WithLabelValues(strconv.Itoa(int(c))).Inc() }
