package stats

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/storage"
)

// metrics are the numbers of a Book.
type metrics struct {
	changes *prometheus.CounterVec // by result
	reports *prometheus.CounterVec // by result
	dropped *prometheus.CounterVec // by reason
	credits prometheus.Counter
}

// The values of labels.
const (
	resultOK      = "ok"
	resultRefused = "refused" // over a limit
	resultIgnored = "ignored" // nothing to store
	resultError   = "error"

	droppedNumber = "number"
	droppedAge    = "age"
)

func newMetrics(r prometheus.Registerer, totals func() storage.StatTotals) *metrics {
	in := metric.With(r)
	in.GaugeFunc("respawnd_stats_blocks", "Stored blocks of data of players.", func() int { return totals().Blocks })
	in.GaugeFunc("respawnd_stats_block_bytes", "Length of all blocks.", func() int { return int(totals().BlockBytes) })
	in.GaugeFunc("respawnd_stats_games", "Stored reports of games.", func() int { return totals().Reports })
	in.GaugeFunc("respawnd_stats_game_bytes", "Length of all reports of games.", func() int { return int(totals().ReportBytes) })
	return &metrics{
		changes: in.Counters("respawnd_stats_changes_total", "Changes of blocks.", "result", resultOK, resultRefused, resultError),
		reports: in.Counters("respawnd_stats_games_total", "Reports of games.", "result", resultOK, resultIgnored, resultRefused, resultError),
		dropped: in.Counters("respawnd_stats_games_dropped_total", "Reports of games that were removed because there were too many or they were too old.", "reason", droppedNumber, droppedAge),
		credits: in.Counter("respawnd_stats_scores_total", "Scores that reports of games changed."),
	}
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultOK
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrFull), errors.Is(err, ErrPairs),
		errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrInvalid):
		return resultRefused
	}
	return resultError
}

func (m *metrics) changed(err error) { m.changes.WithLabelValues(resultOf(err)).Inc() }

func (m *metrics) refused() { m.reports.WithLabelValues(resultRefused).Inc() }

func (m *metrics) reported(r storage.ReportResult, err error) {
	result := resultOf(err)
	if err == nil && !r.Stored {
		result = resultIgnored
	}
	m.reports.WithLabelValues(result).Inc()
	m.dropped.WithLabelValues(droppedNumber).Add(float64(r.Dropped))
	m.credits.Add(float64(r.Credited))
}

func (m *metrics) swept(n int) { m.dropped.WithLabelValues(droppedAge).Add(float64(n)) }
