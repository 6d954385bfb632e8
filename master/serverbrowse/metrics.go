package serverbrowse

import "github.com/prometheus/client_golang/prometheus"

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
	entries  prometheus.Counter
	builds   prometheus.Counter
	build    prometheus.Histogram
	ignored  prometheus.Counter
	views    prometheus.Gauge
	bytes    prometheus.Gauge
	audience prometheus.Gauge
	followed prometheus.Gauge

	unfollowed prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	vec := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "respawnd", Subsystem: "serverbrowse", Name: name, Help: help,
		}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "respawnd", Subsystem: "serverbrowse", Name: name, Help: help,
		})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "respawnd", Subsystem: "serverbrowse", Name: name, Help: help,
		})
	}
	m := &metrics{
		requests: vec("requests_total", "Messages from browsers.", "kind", append(kindNames[:], "unknown")...),
		lists: vec("lists_total", "List requests answered or refused.", "result",
			listSent, listRooms, listHeader, listNoGame, listBadFilter, listBadFields, listExpensive, listBusy),
		messages: vec("messages_total", "Messages for servers.", "result",
			messageSent, messageUnknown, messageBusy, messageSize, messageRate, messageError),
		searches: vec("searches_total", "Searches for players; those over a limit are answered with no player found.", "result",
			searchAnswered, searchRated, searchSpent),
		pushes:  vec("pushes_total", "Updates queued for browsers.", "kind", "server", "delete"),
		entries: counter("list_entries_total", "Servers and rooms in the lists sent."),
		builds:  counter("view_builds_total", "Lists built."),
		ignored: counter("filters_ignored_total", "Filters that were not understood and ignored."),
		build: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "respawnd", Subsystem: "serverbrowse", Name: "view_build_seconds",
			Help: "Time to build a list.", Buckets: prometheus.ExponentialBuckets(0.00005, 4, 8),
		}),
		views:    gauge("views", "Lists kept for the next request."),
		bytes:    gauge("view_bytes", "Size of the lists kept."),
		audience: gauge("subscribers", "Browsers that are kept informed of changes."),
		followed: gauge("followed_lists", "Different lists on which browsers are kept informed."),
		unfollowed: counter("unfollowed_total",
			"Requests for updates that got the list alone: too many lists are followed, or the fields are too long."),
	}
	m.servers, m.deletes = m.pushes.WithLabelValues("server"), m.pushes.WithLabelValues("delete")
	if reg != nil {
		reg.MustRegister(m.requests, m.lists, m.messages, m.searches, m.pushes, m.entries, m.builds,
			m.ignored, m.build, m.views, m.bytes, m.audience, m.followed, m.unfollowed)
	}
	return m
}

func (m *metrics) setViews(n, bytes int) {
	m.views.Set(float64(n))
	m.bytes.Set(float64(bytes))
}

func (m *metrics) built(v *view) {
	m.builds.Inc()
	m.build.Observe(v.took.Seconds())
}

func (m *metrics) request(k Kind)        { m.requests.WithLabelValues(k.String()).Inc() }
func (m *metrics) list(result string)    { m.lists.WithLabelValues(result).Inc() }
func (m *metrics) message(result string) { m.messages.WithLabelValues(result).Inc() }

func (m *metrics) pushed(servers, deletes int) {
	m.servers.Add(float64(servers))
	m.deletes.Add(float64(deletes))
}
