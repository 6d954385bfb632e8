package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// Bounds of connections and requests.
const (
	// DefaultMaxConns is how many connections are served at a time.
	DefaultMaxConns = 8192
	// DefaultMaxPerAddr is how many of them one address may have.
	DefaultMaxPerAddr = 256

	maxHeader     = 16 << 10 // bytes of a request's header
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // of a whole answer
	idleTimeout   = 60 * time.Second
	grace         = 2 * time.Second // for answers under way when the service stops
)

const (
	panicAgain   = time.Minute // least time between two log lines about panics
	maxServerLog = 512         // bytes of what net/http says that are logged
)

// Options is what the service works with.
type Options struct {
	Registry *master.Registry
	Games    *games.Catalog
	// Addresses decides which addresses of servers visitors are given; nil: those
	// of the list.
	Addresses *advertise.Table

	// Domains are those under which clients of games look for us; for the names in
	// /api/v1/games/{name}.
	Domains []string
	// History gets a sample of all numbers of players every history.Interval while
	// Serve runs; nil: one of our own.
	History *history.Book
	// Started is when the daemon started; zero: now.
	Started time.Time

	// PublicURL is where visitors find the pages, without a slash at the end; a
	// path in it is put in front of links. Empty: at the root of any host.
	PublicURL string
	// GameAddress is the IPv4 address that pages tell games to use. Zero: that of
	// PublicURL's host, else the one that the visitor reached.
	GameAddress netip.Addr
	// Lookup finds the addresses of PublicURL's host; nil: nobody does.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Services returns what the daemon runs; nil: not shown.
	Services func() []Service
	// Prober asks the server of a page about itself; nil: nobody is asked.
	Prober Prober
	// Diagnosis is what the page about the visitor's own address tells.
	Diagnosis Diagnosis
	// Accounts is what players look after their accounts with.
	Accounts Accounts
	// Docs answers GET and HEAD of /docs and every path below; nil: there are no
	// documents.
	Docs http.Handler
	// Version is shown at the foot of the pages; may be empty.
	Version string

	// MaxConns bounds the connections in all; 0: DefaultMaxConns. When there are as
	// many, those of the address with most make room for others.
	MaxConns int
	// MaxPerAddr bounds the connections from one IPv4 address or IPv6 /64; 0:
	// DefaultMaxPerAddr. Trusted proxies are not bound by it.
	MaxPerAddr int
	// Policy is what SetPolicy changes later.
	Policy Policy

	Log        zerolog.Logger
	Metrics    *netserve.Metrics     // counts what is refused; nil: not counted
	Registerer prometheus.Registerer // for the metrics of this package; nil: not registered
}

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	if o.MaxPerAddr <= 0 {
		o.MaxPerAddr = DefaultMaxPerAddr
	}
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	if o.History == nil {
		o.History = history.NewBook()
	}
	return o
}

// Server answers requests for pages and JSON. All methods may be called
// concurrently.
type Server struct {
	opt     Options
	metrics *metrics
	started time.Time
	lister  *lister
	feed    *feed
	streams *netserve.Gate // event streams by visitor
	history *history.Book
	// description is the document for programs.
	description fixed
	pages       *pages
	own         *ownAddress
	keeper      *keeper
	handler     http.Handler
	policy      atomic.Pointer[policy]

	zipper      *zipper
	building    chan struct{} // one token per answer that is being written
	outbox      outbox
	panicLogged atomic.Int64 // Unix nanoseconds
}

// New returns a service that is not serving yet. It panics if the registerer has
// other metrics of the same names.
func New(opt Options) *Server {
	opt = opt.withDefaults()
	list := newLister(opt.Registry, opt.Games)
	s := &Server{
		opt:     opt,
		started: opt.Started,
		lister:  list,
		feed:    newFeed(list),
		streams: netserve.NewGate(netserve.ConnOptions{}),
		history: opt.History,

		description: newFixed(openAPI),
		pages:       newPages(basePath(opt.PublicURL), opt.Version),
		keeper:      newKeeper(opt.Accounts, opt.PublicURL),
		own:         newOwnAddress(opt.PublicURL, opt.Lookup),
		zipper:      newZipper(),
		building:    make(chan struct{}, maxBuilding()),
	}
	s.metrics = newMetrics(opt.Registerer, s.feed.len, func() int { n, _ := s.history.Len(); return n }, s.keeper.sessions.Len)
	s.SetPolicy(opt.Policy)
	s.handler = s.wrap(s.mux())
	return s
}

// basePath returns the path of a URL without a slash at the end; "" if the URL
// cannot be read.
func basePath(public string) string {
	u, err := url.Parse(public)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// Handler returns the handler of all paths, for a server of another owner. The
// bounds on connections and the time-outs are those of Serve alone.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers requests on ln until ctx ends; it is called once. Then it gives the answers under
// way two seconds, closes what is left and returns nil. An error that ends it
// before is returned. It closes ln in any case. Events come, and the history is
// written, only while Serve runs.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(serverLog{s.opt.Log}, slog.LevelDebug),
		// Answers under way outlive ctx by the grace.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var stopping sync.WaitGroup
	stopping.Go(func() { s.feed.run(ctx) })
	stopping.Go(func() { s.sample(ctx) })
	stopping.Go(func() {
		<-ctx.Done()
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
		if hs.Shutdown(late) != nil {
			_ = hs.Close()
		}
	})
	err := netserve.ServeHTTP(hs, ln, netserve.ConnOptions{
		MaxConns: s.opt.MaxConns, MaxPerAddr: s.opt.MaxPerAddr, Exempt: s.unbound, Metrics: s.opt.Metrics, Log: s.opt.Log,
	})
	ended := ctx.Err() != nil
	cancel()
	stopping.Wait()
	if ended {
		return nil
	}
	return fmt.Errorf("serve pages on %s: %w", ln.Addr(), err)
}

// unbound reports whether connections of a peer are not counted against it.
func (s *Server) unbound(peer netip.Addr) bool {
	p := s.policy.Load()
	return p.proxy(peer) || p.exempt(peer)
}

// serverLog takes what net/http has to say, which is nearly always about
// something that a stranger did.
type serverLog struct{ log zerolog.Logger }

// Enabled implements slog.Handler.
func (l serverLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l serverLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	l.log.Debug().Str("text", text[:min(len(text), maxServerLog)]).Msg("trouble with a connection")
	return nil
}

// WithAttrs implements slog.Handler.
func (l serverLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l serverLog) WithGroup(string) slog.Handler { return l }
