package utmaster

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/master/views"
)

// metrics are the counters of this package.
type metrics struct {
	client, server, list, motd, community         prometheus.Counter
	states, registered, probes, questions, proofs prometheus.Counter
	writeErrors                                   prometheus.Counter
	views                                         views.Metrics
}

func newMetrics(reg prometheus.Registerer, servers func() int) *metrics {
	m, in := &metrics{}, metric.With(reg)
	peers := in.Counters("respawnd_utmaster_peers_total", "Peers that were approved, by role.", "role").WithLabelValues
	m.client, m.server = peers("client"), peers("server")
	requests := in.Counters("respawnd_utmaster_requests_total", "Requests of browsers that were answered, by kind.", "kind").WithLabelValues
	m.list, m.motd, m.community = requests("list"), requests("motd"), requests("community")
	m.states = in.Counter("respawnd_utmaster_states_total", "States that game servers reported.")
	m.registered = in.Counter("respawnd_utmaster_registrations_total", "Game servers that were listed.")
	m.probes = in.Counter("respawnd_utmaster_probe_answers_total", "Datagrams of game servers with the code of a probe.")
	m.questions = in.Counter("respawnd_utmaster_questions_total", "Questions for the status that were sent to game servers.")
	m.proofs = in.Counter("respawnd_utmaster_answers_total", "Answers to questions for the status.")
	m.writeErrors = in.Counter("respawnd_utmaster_write_errors_total", "Datagrams that the system did not take.")
	in.GaugeFunc("respawnd_utmaster_servers", "Game servers that are listed, hidden ones included.", servers)
	m.views = views.NewMetrics(reg, serviceName)
	return m
}
