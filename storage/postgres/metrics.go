package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the counters of an engine.
type metrics struct {
	reg        prometheus.Registerer
	statements prometheus.Counter
	retries    *prometheus.CounterVec
	failures   *prometheus.CounterVec
}

// newMetrics registers the metrics, unless reg is nil.
func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		reg: reg,
		statements: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "respawnd_postgres_statements_total", Help: "Statements sent to the database.",
		}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_postgres_retries_total",
			Help: "Steps that ran again, by reason: changed, serialization, deadlock, locks or connection.",
		}, []string{"reason"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_postgres_failures_total",
			Help: "Steps that failed because of the database server, by kind: connect, no_connection, lost, timeout, read_only, resources or contended.",
		}, []string{"kind"}),
	}
	for _, reason := range []string{"changed", "serialization", "deadlock", "locks", "connection"} {
		m.retries.WithLabelValues(reason)
	}
	for _, kind := range []string{kindConnect, kindNone, kindLost, kindTimeout, kindReadOnly, kindResources, kindContended} {
		m.failures.WithLabelValues(kind)
	}
	if reg != nil {
		reg.MustRegister(m.statements, m.retries, m.failures)
	}
	return m
}

// watch registers the metrics of the pool.
func (m *metrics) watch(pool *pgxpool.Pool) {
	if m.reg == nil {
		return
	}
	gauge := func(name, help string, value func(*pgxpool.Stat) int64) {
		m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(pool.Stat())) }))
	}
	gauge("respawnd_postgres_connections", "Open connections to the database.",
		func(s *pgxpool.Stat) int64 { return int64(s.TotalConns()) })
	gauge("respawnd_postgres_connections_in_use", "Connections to the database that a step uses.",
		func(s *pgxpool.Stat) int64 { return int64(s.AcquiredConns()) })
	counter := func(name, help string, value func(*pgxpool.Stat) int64) {
		m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return float64(value(pool.Stat())) }))
	}
	counter("respawnd_postgres_connects_total", "Connections to the database that were opened.", (*pgxpool.Stat).NewConnsCount)
	counter("respawnd_postgres_waits_total", "Steps that had to wait for a connection.", (*pgxpool.Stat).EmptyAcquireCount)
}

// statementCounter counts the statements of connections. It implements pgx.QueryTracer and
// pgx.BatchTracer.
type statementCounter struct{ prometheus.Counter }

// TraceQueryStart implements pgx.QueryTracer.
func (c statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Inc()
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (c statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	c.Add(float64(data.Batch.Len()))
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (statementCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// RegisterMetrics registers the metrics of an engine without a database, for their
// documentation. It returns a function that ends their use.
func RegisterMetrics(reg prometheus.Registerer) (end func(), err error) {
	config, err := configure("postgres:///none?host=/nonexistent", Options{})
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config) // connects when it is used
	if err != nil {
		return nil, err
	}
	newMetrics(reg).watch(pool)
	return pool.Close, nil
}
