package netserve

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons under which this package counts drops itself.
const (
	dropReadError  = "read_error"
	dropWriteError = "write_error"
	dropAccept     = "accept_error"
	dropFirstByte  = "first_byte_timeout"
	dropIdle       = "idle_timeout"
	dropLifetime   = "lifetime"
	dropSlowReader = "slow_reader"
	dropOther      = "other" // any reason beyond maxDropReasons
)

// maxDropReasons bounds the label values of one service.
const maxDropReasons = 64

// Metrics are the counters of one service. All methods may be called on a nil
// *Metrics, which counts nothing, and concurrently; counting does not allocate.
type Metrics struct {
	packetsIn, packetsOut prometheus.Counter
	bytesIn, bytesOut     prometheus.Counter
	panics                prometheus.Counter
	open                  prometheus.Gauge
	accepted              prometheus.Counter
	delayed               prometheus.Counter
	refused               map[Refusal]prometheus.Counter // never changed
	evicted               [StateProtected]prometheus.Counter

	service string
	tap     *Tap // nil: nothing is recorded
	dropped *prometheus.CounterVec
	addDrop sync.Mutex                                    // held while drops is replaced
	drops   atomic.Pointer[map[string]prometheus.Counter] // never changed once stored
}

// NewMetrics returns the counters of one service, whose name is the value of
// the label "service". It is called once per service with the same reg: the
// first call registers the metric families, later ones join them. The reasons
// that the service will pass to Drop can be given to be shown from the start,
// at zero. With a nil reg it counts but nothing is registered. It panics if reg
// has other metrics of the same names.
func NewMetrics(reg prometheus.Registerer, service string, reasons ...string) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return join(reg, prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: name, Help: help}, []string{"service"})).WithLabelValues(service)
	}
	refused := join(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_connections_refused_total", Help: "Connections closed at once, by reason.",
	}, []string{"service", "reason"}))
	evicted := join(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_connections_evicted_total", Help: "Connections closed to make room for one from another address, by their state.",
	}, []string{"service", "state"}))
	m := &Metrics{
		packetsIn:  counter("respawnd_packets_received_total", "Datagrams received."),
		packetsOut: counter("respawnd_packets_sent_total", "Datagrams sent."),
		bytesIn:    counter("respawnd_bytes_received_total", "Payload bytes received."),
		bytesOut:   counter("respawnd_bytes_sent_total", "Payload bytes sent."),
		panics:     counter("respawnd_panics_total", "Panics contained in handlers."),
		accepted:   counter("respawnd_connections_total", "Connections accepted and served."),
		delayed:    counter("respawnd_connections_delayed_total", "Connections that waited because their address opened too many at once."),
		refused:    make(map[Refusal]prometheus.Counter),
		service:    service,
		dropped: join(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_dropped_total", Help: "Packets, requests and connections dropped, by reason.",
		}, []string{"service", "reason"})),
		open: join(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "respawnd_connections", Help: "Connections being served.",
		}, []string{"service"})).WithLabelValues(service),
	}
	for _, why := range []Refusal{RefusedFull, RefusedPerAddr, RefusedRate, RefusedStopping} {
		m.refused[why] = refused.WithLabelValues(service, string(why))
	}
	for state := range m.evicted {
		m.evicted[state] = evicted.WithLabelValues(service, State(state).String())
	}
	m.drops.Store(&map[string]prometheus.Counter{})
	for _, reason := range reasons {
		m.learn(reason)
	}
	return m
}

// join registers c, or returns the collector that was registered in its place
// by an earlier service.
func join[C prometheus.Collector](reg prometheus.Registerer, c C) C {
	if reg == nil {
		return c
	}
	err := reg.Register(c)
	if err == nil {
		return c
	}
	if are, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if earlier, ok := are.ExistingCollector.(C); ok {
			return earlier
		}
	}
	panic(err)
}

// Drop counts a dropped packet or connection. Reasons are a small closed set of
// constants, never text from outside: after 64 distinct ones the rest is
// counted as "other".
func (m *Metrics) Drop(reason string) {
	if m == nil {
		return
	}
	c, ok := (*m.drops.Load())[reason]
	if !ok {
		c = m.learn(reason)
	}
	c.Inc()
}

// learn adds the counter for reason to the set.
func (m *Metrics) learn(reason string) prometheus.Counter {
	m.addDrop.Lock()
	defer m.addDrop.Unlock()
	known := *m.drops.Load()
	if c, ok := known[reason]; ok {
		return c
	}
	if len(known) >= maxDropReasons {
		return m.dropped.WithLabelValues(m.service, dropOther)
	}
	c := m.dropped.WithLabelValues(m.service, reason)
	next := maps.Clone(known)
	next[reason] = c
	m.drops.Store(&next)
	return c
}

func (m *Metrics) received(packets, bytes int) {
	if m != nil {
		m.packetsIn.Add(float64(packets))
		m.bytesIn.Add(float64(bytes))
	}
}

func (m *Metrics) sent(packets, bytes int) {
	if m != nil {
		m.packetsOut.Add(float64(packets))
		m.bytesOut.Add(float64(bytes))
	}
}

func (m *Metrics) read(bytes int) {
	if m != nil {
		m.bytesIn.Add(float64(bytes))
	}
}

func (m *Metrics) wrote(bytes int) {
	if m != nil {
		m.bytesOut.Add(float64(bytes))
	}
}

func (m *Metrics) panicked() {
	if m != nil {
		m.panics.Inc()
	}
}

// Opened counts a connection that is served from now on. It is for services with
// an accept loop of their own, as ServeConns counts by itself; each connection is
// Closed once.
func (m *Metrics) Opened() {
	if m != nil {
		m.accepted.Inc()
		m.open.Inc()
	}
}

// Closed counts the end of a connection that was Opened.
func (m *Metrics) Closed() {
	if m != nil {
		m.open.Dec()
	}
}

// admitted counts a decision of a Gate.
func (m *Metrics) admitted(a *Admission) {
	if m == nil {
		return
	}
	if a.Evicted {
		m.evicted[a.Was].Inc()
	}
	if a.Delay > 0 {
		m.delayed.Inc()
	}
	m.refuse(a.Refused)
}

// refuse counts a connection that is not served. The empty reason is not
// counted.
func (m *Metrics) refuse(why Refusal) {
	if m == nil {
		return
	}
	if c, ok := m.refused[why]; ok {
		c.Inc()
	}
}
