package utmaster

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master/views"
)

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

// ended is why the master ends a connection, or drops something; its text is the label
// in metrics.
type ended = drops.Reason

var reasons drops.List

var notDropped ended

var (
	endedBanned     = reasons.Judge("banned", verdicts.Banned)
	endedTooLong    = reasons.Judge("too_long", verdicts.TooLong)
	endedMalformed  = reasons.Judge("malformed", verdicts.Malformed)
	endedTimeout    = reasons.Add("request_timeout")
	endedGone       = reasons.Add("no_request")
	endedRole       = reasons.Add("unknown_role")
	endedGame       = reasons.Add("unknown_game")
	endedKey        = reasons.Add("key_banned")
	endedRequest    = reasons.Add("unknown_request")
	endedBusy       = reasons.Add("busy")
	endedSilent     = reasons.Add("silent")
	endedTooMany    = reasons.Judge("too_many_here", verdicts.TooManyHere)
	endedFull       = reasons.Judge("list_full", verdicts.ListFull)
	endedElsewhere  = reasons.Add("listed_elsewhere")
	endedReplaced   = reasons.Judge("replaced", verdicts.Restarted)
	droppedMessage  = reasons.Add("unused_message") // a message of a game server that is not used
	droppedFilter   = reasons.Add("unknown_filter") // a filter that is not known
	droppedPacket   = reasons.Add("foreign")        // a datagram of another protocol
	droppedUnasked  = reasons.Add("unexpected")     // a datagram that no server was asked for
	droppedUnproved = reasons.Add("no_answer")      // a server none of whose ports answered
	droppedBurst    = reasons.Add("burst")          // a datagram beyond those that a server's connection waits for
)
