package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cacerts"
	"github.com/respawnd/respawnd/storage/engine"
)

// Defaults of Options.
const (
	daemonName = "respawnd"

	// DefaultStatementTimeout is how long a step may take.
	DefaultStatementTimeout = 2 * time.Second
	// minConns is the lowest default of MaxConns.
	minConns = 16
)

// Times of connections.
const (
	maxConnect = 2 * time.Second         // of one attempt
	silence    = 1500 * time.Millisecond // after which a connection on which nothing arrives any more is lost
	keepAlive  = time.Minute
	idleConn   = 5 * time.Minute // after which an unused connection is closed
	idleStep   = 2 * time.Second // after which the server undoes a step of a node that was cut off: others wait for its locks
	closeWait  = 3 * time.Second // for the connections to close
)

// Options configure how a database is used. The zero value is right for a lone
// daemon.
type Options struct {
	// Program is the name that the database shows for its connections; empty: respawnd.
	Program string
	// Node is the name of this node.
	Node string
	// MaxConns is the maximum number of connections; 0: twice the processors, at
	// least 16. A pool_max_conns in the URL counts instead of 0.
	MaxConns int
	// StatementTimeout is how long a step, with its wait for a connection, may take; 0:
	// DefaultStatementTimeout.
	StatementTimeout time.Duration
	// Log receives warnings about the server's settings.
	Log zerolog.Logger
	// Registerer registers the metrics; nil: none.
	Registerer prometheus.Registerer
	// Layout is that of the records.
	Layout engine.Layout
	// Strict are the tables whose numbers are in the order of the steps of all nodes.
	Strict []engine.Table
}

// Engine is an open database. It implements [engine.Engine].
type Engine struct {
	pool    *pgxpool.Pool
	node    string
	timeout time.Duration // of a step
	gone    *breaker
	log     zerolog.Logger
	metrics *metrics
	layout  engine.Layout
	strict  map[engine.Table]bool
	writes  engine.Writes

	tables  *sync.Map // numbers (int16) by engine.Table
	numbers *sync.Map // *numbers by engine.Table

	asOf   *asOf // the moment that it reads at; nil: it reads and writes the present
	closed atomic.Bool
}

var _ engine.Engine = (*Engine)(nil)

// Open connects to the database and creates the tables that it lacks. The URL is a
// PostgreSQL URL or a list of key=value; environment variables such as
// PGPASSWORD complete it. The errors name no password. They match ErrNewer,
// ErrOld, ErrLayout or engine.ErrUnavailable if that is the reason.
func Open(ctx context.Context, url string, opt Options) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return connect(ctx, url, opt, func(e *Engine) error { return e.prepare(ctx) })
}

// connect connects to a database, checks the server, and calls use.
func connect(ctx context.Context, url string, opt Options, use func(*Engine) error) (*Engine, error) {
	config, err := configure(url, opt)
	if err != nil {
		return nil, err
	}
	e := newEngine(opt)
	config.ConnConfig.Tracer = statementCounter{e.metrics.statements}
	// The context of the pool outlives that of Open.
	e.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	e.metrics.watch(e.pool)
	if err = e.checkServer(ctx); err == nil {
		err = use(e)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", describe(config.ConnConfig), err), e.Close())
	}
	return e, nil
}

func newEngine(opt Options) *Engine {
	e := &Engine{
		node: opt.Node, log: opt.Log, metrics: newMetrics(opt.Registerer), layout: opt.Layout,
		timeout: timeoutOf(opt), gone: new(breaker),
		strict: make(map[engine.Table]bool), tables: new(sync.Map), numbers: new(sync.Map),
	}
	for _, t := range opt.Strict {
		e.strict[t] = true
	}
	return e
}

// configure returns the configuration of the pool.
func configure(url string, opt Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if opt.MaxConns > 0 {
		config.MaxConns = int32(min(opt.MaxConns, 1<<15))
	} else if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = int32(max(2*runtime.GOMAXPROCS(0), minConns))
	}
	config.MaxConnIdleTime = idleConn
	connectTimeout := min(maxConnect, timeoutOf(opt)*3/4) // a step learns of the failure
	config.PingTimeout = connectTimeout
	config.BeforeClose = func(c *pgx.Conn) {
		if c.IsClosed() { // a failure closed it; pgx would wait 15 seconds for a last word of the server
			_ = c.PgConn().Conn().Close()
		}
	}
	c := config.ConnConfig
	if c.TLSConfig != nil {
		cacerts.Ready()
	}
	c.DialFunc = (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive, Control: limitSilence}).DialContext
	if c.ConnectTimeout <= 0 || c.ConnectTimeout > connectTimeout {
		c.ConnectTimeout = connectTimeout
	}
	if c.ValidateConnect == nil { // a standby cannot be written
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	setParams(c.RuntimeParams, opt)
	return config, nil
}

// timeoutOf returns how long a step may take.
func timeoutOf(opt Options) time.Duration {
	if opt.StatementTimeout <= 0 {
		return DefaultStatementTimeout
	}
	return opt.StatementTimeout
}

// setParams sets the parameters of a connection.
func setParams(params map[string]string, opt Options) {
	timeout := timeoutOf(opt)
	for name, value := range map[string]string{
		"application_name":                    applicationName(opt),
		"statement_timeout":                   milliseconds(timeout * 9 / 10),
		"lock_timeout":                        milliseconds(timeout * 7 / 10),
		"idle_in_transaction_session_timeout": milliseconds(idleStep),
		"tcp_user_timeout":                    milliseconds(silence),
	} {
		if _, given := params[name]; !given {
			params[name] = value
		}
	}
	// Locks come before a snapshot only so.
	params["default_transaction_isolation"] = "read committed"
	// All statements look up keys by the one index. Estimates for a table that nothing
	// analyzed yet must not lead to another plan.
	for _, name := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "jit"} {
		params[name] = "off"
	}
	params["plan_cache_mode"] = "force_generic_plan"
}

// applicationName is the name that pg_stat_activity shows.
func applicationName(opt Options) string {
	name := cmp.Or(opt.Program, daemonName)
	if opt.Node == "" {
		return name
	}
	return name + "/" + opt.Node
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// describe names a database without its password.
func describe(c *pgx.ConnConfig) string {
	return fmt.Sprintf("%q on %s:%d as %q", c.Database, c.Host, c.Port, c.User)
}

// oldestServer is the oldest version of PostgreSQL that is supported, as its
// setting server_version_num.
const oldestServer = 150000

// ErrOld means that the server is older than PostgreSQL 15.
var ErrOld = errors.New("the server is older than PostgreSQL 15")

// checkServer refuses a server that is too old and warns about settings that
// lose acknowledged changes.
func (e *Engine) checkServer(ctx context.Context) error {
	var version int
	var commit, fsync, encoding string
	err := e.repeat(ctx, &attempt{reads: true}, func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'),
			current_setting('fsync'), current_setting('server_encoding')`).Scan(&version, &commit, &fsync, &encoding)
	})
	switch {
	case err != nil:
		return err
	case version < oldestServer:
		return fmt.Errorf("%w (its version is %d)", ErrOld, version/10000)
	case encoding != "UTF8":
		return fmt.Errorf("its encoding is %s; create it with ENCODING 'UTF8'", encoding)
	}
	if commit == "off" || fsync == "off" {
		e.log.Warn().Str("synchronous_commit", commit).Str("fsync", fsync).
			Msg("a crash of the database server loses changes that were acknowledged")
	}
	return nil
}

// Close waits for running steps and closes all connections. It waits only
// briefly for a server that does not answer. Steps that still run then fail when
// the process ends.
func (e *Engine) Close() error {
	if closed := e.closed.Swap(true); e.asOf != nil {
		if !closed {
			e.asOf.close()
		}
		return nil
	}
	done := make(chan struct{})
	go func() {
		e.pool.Close() // gives each connection 15 seconds
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(closeWait):
		e.log.Warn().Msg("the database did not answer when its connections were closed")
	}
	return nil
}
