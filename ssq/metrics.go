package ssq

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// metrics are the counters of this package. They are resolved once, so that
// counting costs one addition.
type metrics struct {
	received [wire.Version + 1]prometheus.Counter // by verb
	auth     struct{ granted, refused prometheus.Counter }

	tokens, errors, cut, cells, rows, writeErrors prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m, in := &metrics{}, metric.With(reg)
	received := in.Counters("respawnd_ssq_received_total", "Queries that were read, by kind.", "query").WithLabelValues
	for v := range m.received {
		m.received[v] = received(wire.Verb(v).String())
	}
	auth := in.Counters("respawnd_ssq_auth_total", "Passwords given, by result.", "result").WithLabelValues
	m.auth.granted = auth("granted")
	m.auth.refused = auth("refused")
	m.tokens = in.Counter("respawnd_ssq_tokens_total", "Tokens sent to addresses that had to prove themselves.")
	m.errors = in.Counter("respawnd_ssq_errors_total", "Queries that were answered with an error.")
	m.cut = in.Counter("respawnd_ssq_cut_answers_total", "Answers that left rows out, and said so.")
	m.cells = in.Counter("respawnd_ssq_cut_cells_total", "Values cut because they were longer than a cell may be.")
	m.rows = in.Counter("respawnd_ssq_lost_rows_total", "Rows left out because no answer has room for them.")
	m.writeErrors = in.Counter("respawnd_ssq_write_errors_total", "Packets that the system did not take.")
	return m
}
