package serverbrowse

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/master/views"
)

// Results of a list request.
const (
	listSent       = "sent"
	listRooms      = "rooms"
	listHeader     = "header_only"
	listNoGame     = "unknown_game"
	listBadFilter  = "bad_filter"
	listBadFields  = "too_many_fields"
	listExpensive  = "too_expensive"
	listBusy       = "busy"
	messageSent    = "sent"
	messageUnknown = "unknown_server"
	messageBusy    = "busy"
	messageSize    = "bad_size"
	messageRate    = "rate"
	messageError   = "error"
	searchAnswered = "answered"
	searchRated    = "rate"   // of the connection
	searchSpent    = "budget" // of the address
)

// metrics are the counters of the service; netserve.Metrics counts drops.
type metrics struct {
	requests *prometheus.CounterVec // kind
	lists    *prometheus.CounterVec // result
	messages *prometheus.CounterVec // result
	searches *prometheus.CounterVec // result
	pushes   *prometheus.CounterVec // kind
	servers  prometheus.Counter     // of pushes
	deletes  prometheus.Counter
	views    views.Metrics
	wholes   prometheus.Counter
	audience prometheus.Gauge
	followed prometheus.Gauge

	unfollowed prometheus.Counter
	unanswered prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := metric.With(reg)
	m := &metrics{
		requests: in.Counters("respawnd_serverbrowse_requests_total", "Messages from browsers.", "kind", append(kindNames[:], "unknown")...),
		lists: in.Counters("respawnd_serverbrowse_lists_total", "List requests answered or refused.", "result",
			listSent, listRooms, listHeader, listNoGame, listBadFilter, listBadFields, listExpensive, listBusy),
		messages: in.Counters("respawnd_serverbrowse_messages_total", "Messages for servers.", "result",
			messageSent, messageUnknown, messageBusy, messageSize, messageRate, messageError),
		searches: in.Counters("respawnd_serverbrowse_searches_total", "Searches for players; those over a limit are answered with no player found.", "result",
			searchAnswered, searchRated, searchSpent),
		pushes:   in.Counters("respawnd_serverbrowse_pushes_total", "Updates queued for browsers.", "kind", "server", "delete"),
		views:    views.NewMetrics(reg, "serverbrowse"),
		wholes:   in.Counter("respawnd_serverbrowse_whole_lists_total", "Lists built of all servers of a game, from which those that pass a filter are picked."),
		audience: in.Gauge("respawnd_serverbrowse_subscribers", "Browsers that are kept informed of changes."),
		followed: in.Gauge("respawnd_serverbrowse_followed_lists", "Different lists on which browsers are kept informed."),
		unfollowed: in.Counter("respawnd_serverbrowse_unfollowed_total",
			"Requests for updates that got the list alone: too many lists are followed, or the fields are too long."),
		unanswered: in.Counter("respawnd_serverbrowse_unanswered_lists_total",
			"Lists after which the browser stayed connected, sent nothing and did not return the first keepalive. Games with another secret key do that."),
	}
	m.servers, m.deletes = m.pushes.WithLabelValues("server"), m.pushes.WithLabelValues("delete")
	return m
}

func (m *metrics) request(k Kind)        { m.requests.WithLabelValues(k.String()).Inc() }
func (m *metrics) list(result string)    { m.lists.WithLabelValues(result).Inc() }
func (m *metrics) message(result string) { m.messages.WithLabelValues(result).Inc() }

func (m *metrics) pushed(servers, deletes int) {
	m.servers.Add(float64(servers))
	m.deletes.Add(float64(deletes))
}
