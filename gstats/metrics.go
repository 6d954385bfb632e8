package gstats

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// Results of an authentication of a player.
const (
	loginAccepted = iota
	loginRefused
)

// Results of a report of a game.
const (
	reportStored = iota
	reportUntrusted
	reportTooLarge
	reportFailed
)

// metrics are the counters of the service; netserve.Metrics counts connections and
// drops.
type metrics struct {
	commands   [len(commandNames)]prometheus.Counter
	sets, gets [len(resultNames)]prometheus.Counter
	logins     [2]prometheus.Counter
	reports    [4]prometheus.Counter
	players    prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := metric.With(reg)
	m := &metrics{players: f.Gauge("respawnd_gstats_players", "Players who are authenticated, on all connections.")}
	fill := func(to []prometheus.Counter, names []string, metric, help, label string) {
		v := f.Counters(metric, help, label)
		for i := range to {
			to[i] = v.WithLabelValues(names[i])
		}
	}
	fill(m.commands[:], commandNames[:], "respawnd_gstats_requests_total", "Requests of games.", "request")
	fill(m.sets[:], resultNames[:], "respawnd_gstats_sets_total", "Requests to store data of players, by how they ended.", "result")
	fill(m.gets[:], resultNames[:], "respawnd_gstats_gets_total", "Requests for data of players, by how they ended.", "result")
	fill(m.logins[:], []string{"accepted", "refused"}, "respawnd_gstats_logins_total", "Authentications of players.", "result")
	fill(m.reports[:], []string{"stored", "untrusted", "too_large", "failed"}, "respawnd_gstats_reports_total",
		"Reports of games; the untrusted ones are stored too.", "result")
	return m
}
