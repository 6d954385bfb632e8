package natneg

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
)

// maxGameLabels is the number of games with a label of their own in the
// metrics. The rest, and games that are not in the catalogue, are "other".
const maxGameLabels = 200

const otherGames = "other"

// metrics are the counters of this package. Those on the way of a packet are
// resolved once.
type metrics struct {
	received struct {
		init, connectAck, report, natTest, testAck, addressCheck, queue prometheus.Counter
	}
	connects, tests, evicted, writeErrors, relayBusy prometheus.Counter
	nodes                                            struct {
		forwarded, taken, ordered, sent, again, moved, refused, unread prometheus.Counter
	}

	ended *prometheus.CounterVec
	pairs *prometheus.CounterVec
	mu    sync.Mutex
	games map[string]bool // that have a label
}

func newMetrics(reg prometheus.Registerer, open, known func() int) *metrics {
	m := &metrics{games: make(map[string]bool)}
	in := metric.With(reg)
	m.ended = in.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_natneg_negotiations_total",
		Help: "Negotiations that ended, by game, pair of NATs and result.",
	}, []string{"game", "nats", "result"})
	m.pairs = in.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_natneg_pairs_total",
		Help: "Pairs of players that were introduced, by pair of NATs and the way in which they met.",
	}, []string{"nats", "way"})
	in.GaugeFunc("respawnd_natneg_routers_known", "Public addresses of players whose router is remembered, for an hour, at most 16384.", known)
	in.GaugeFunc("respawnd_natneg_open_cookies", "Negotiations that are open.", open)
	received := in.Counters("respawnd_natneg_received_total", "Packets taken from clients, by kind.", "kind")
	m.received.init = received.WithLabelValues("init")
	m.received.connectAck = received.WithLabelValues("connect_receipt")
	m.received.report = received.WithLabelValues("report")
	m.received.natTest = received.WithLabelValues("nat_test")
	m.received.testAck = received.WithLabelValues("test_receipt")
	m.received.addressCheck = received.WithLabelValues("address_check")
	m.received.queue = received.WithLabelValues("queue")
	messages := in.Counters("respawnd_natneg_cluster_total", "Messages between the nodes of a cluster, by kind.", "kind")
	m.nodes.forwarded = messages.WithLabelValues("forwarded")
	m.nodes.taken = messages.WithLabelValues("taken")
	m.nodes.ordered = messages.WithLabelValues("ordered")
	m.nodes.sent = messages.WithLabelValues("sent")
	m.nodes.again = messages.WithLabelValues("forwarded_again")
	m.nodes.moved = messages.WithLabelValues("moved")
	m.nodes.refused = messages.WithLabelValues("refused")
	m.nodes.unread = messages.WithLabelValues("unreadable")
	m.connects = in.Counter("respawnd_natneg_connects_total", "Connects sent, repeated ones and refusals included.")
	m.tests = in.Counter("respawnd_natneg_router_tests_total", "Packets sent to test players' routers before they are introduced.")
	m.evicted = in.Counter("respawnd_natneg_evicted_total", "Negotiations dropped to make room for new ones.")
	m.relayBusy = in.Counter("respawnd_natneg_relay_busy_total", "Pairs that were introduced without the relay because too many waited for it.")
	m.writeErrors = in.Counter("respawnd_natneg_write_errors_total", "Packets that the system did not take.")
	return m
}

// sent counts a packet of a negotiation.
func (m *metrics) sent(t Type) {
	if t == TypeTest {
		m.tests.Inc()
	} else {
		m.connects.Inc()
	}
}

// note counts the end of a negotiation.
func (m *metrics) note(o *outcome) {
	m.ended.WithLabelValues(m.label(o.game), o.pair(), kinds[o.result].label).Inc()
}

func (m *metrics) label(game string) string {
	if game == "" {
		return otherGames
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.games[game] {
		if len(m.games) >= maxGameLabels {
			return otherGames
		}
		m.games[game] = true
	}
	return game
}
