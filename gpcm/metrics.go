package gpcm

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Results of a message between players.
const (
	messageSent    = "sent"
	messageStored  = "stored"
	messageOffline = "offline"
	messageRefused = "refused"
	messageBlocked = "blocked"

	messageReturned = "returned" // it was sent, did not arrive, and waits now
)

// unknownCommand is the label of commands that are not in the table.
const unknownCommand = "unknown"

// metrics are the counters of the service; netserve.Metrics counts drops, and
// internal/presence sessions.
type metrics struct {
	commands *prometheus.CounterVec // command
	errors   *prometheus.CounterVec // code
	messages *prometheus.CounterVec // result
	renewed  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	return &metrics{
		commands: in.Counters("respawnd_gpcm_commands_total", "Commands of clients.", "command", unknownCommand),
		errors:   in.Counters("respawnd_gpcm_errors_total", "Errors sent to clients, by their code.", "code"),
		messages: in.Counters("respawnd_gpcm_messages_total", "Messages between players.", "result",
			messageSent, messageStored, messageOffline, messageRefused, messageBlocked, messageReturned),
		renewed: in.Counter("respawnd_gpcm_tickets_renewed_total", "Login tickets that were sent to clients in place of older ones."),
	}
}
func (m *metrics) message(result string) { m.messages.WithLabelValues(result).Inc() }
func (m *metrics) refused(c code)        { m.errors.WithLabelValues(strconv.Itoa(int(c))).Inc() }
