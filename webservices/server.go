package webservices

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/ssl3"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/onehost"
	"github.com/respawnd/respawnd/webservices/sake"
	"github.com/respawnd/respawnd/webservices/sakefiles"
)

// Bounds of requests.
const (
	maxHeader     = 16 << 10 // bytes of a request's header
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // of a whole reply
	grace         = 2 * time.Second  // for pending replies when the service stops
)

const name = "webservices"

// Options are the parts of a Server. Config, Games, Key, Accounts and Store are
// required.
type Options struct {
	part.Self
	part.Peers
	service.Players // without Files there are none, without News no messages, without Stats no pages of players

	Config  Config
	Games   *games.Catalog
	Key     *auth.Key
	Records sake.Store        // of players; nil: there are no records
	Tickets sakefiles.Tickets // required with Records
	// SignedIn reports whether a profile is signed in from an address; nil: none is.
	SignedIn func(ctx context.Context, id storage.ProfileID, from netip.Addr) bool
	Cluster  cluster.Bus // other nodes; nil: none
	// Served returns whether games can use a service here; nil: they cannot.
	Served func(games.Service) games.Served
}

// Server answers requests. All methods may be called concurrently.
type Server struct {
	opt      Options
	backends []backend
	router   router
	hosts    []string // patterns that the metrics know
	metrics  *metrics
	bodies   bodies
	gate     *netserve.Gate
	headers  time.Duration                    // in which the header of a request must have come
	reading  time.Duration                    // in which all of it must have come
	rate     atomic.Pointer[netserve.Limiter] // never nil
	secure   atomic.Pointer[ssl3.Listener]    // nil: there is none
}

// New returns a service that is not serving yet. It panics if the registerer has
// other metrics of the same names.
func New(opt Options) (*Server, error) {
	all, err := backends(&opt)
	if err != nil {
		return nil, err
	}
	return newServer(opt, all), nil
}

func newServer(opt Options, all []backend) *Server {
	s := &Server{
		opt: opt, backends: all, router: newRouter(all), headers: headerTimeout, reading: readTimeout,
		hosts: slices.Concat(games.HostPatterns(name), games.HostPatterns("race"), games.HostPatterns("nas")),
	}
	s.metrics = newMetrics(opt.Registerer, requestNames(all), s.hosts, s.handshakes)
	s.gate = netserve.NewGate(netserve.ConnOptions{
		MaxConns: opt.Config.MaxConns, MaxPerAddr: opt.Config.MaxPerAddr, Rate: -1, Exempt: s.opt.Trusted.Has,
	})
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys of a configuration. Every address starts with a
// full burst.
func (s *Server) Reload(c *Config) {
	s.rate.Store(netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst}))
	if l := s.secure.Load(); l != nil {
		l.SetLimits(handshakeLimits(c))
	}
	for _, r := range s.backends {
		if r.reload != nil {
			r.reload(c)
		}
	}
}

// Run does the background work of backends, until ctx ends.
func (s *Server) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, r := range s.backends {
		if r.run != nil {
			all.Go(func() { r.run(ctx) })
		}
	}
	all.Wait()
}

// Serve answers requests on ln until ctx ends. Then it waits up to two seconds
// for pending replies, closes the rest and returns nil. An error that ends it
// before is returned. It always closes ln. It may be called for several
// listeners, which share the bounds.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.serveOn(ctx, ln, netserve.ConnOptions{}, false)
}

// serveOn is Serve with more options. The contexts of requests say whether they are
// encrypted.
func (s *Server) serveOn(ctx context.Context, ln net.Listener, opt netserve.ConnOptions, encrypted bool) error {
	base := context.WithoutCancel(ctx)
	if encrypted {
		base = context.WithValue(base, secureKey{}, true)
	}
	hs := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.headers,
		ReadTimeout:       s.reading,
		WriteTimeout:      writeTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base }, // pending replies outlive ctx by the grace
	}
	hs.SetKeepAlivesEnabled(false)
	opt.Gate, opt.Metrics, opt.Log = s.gate, s.opt.Metrics, s.opt.Log
	err := netserve.ServeHTTPUntil(ctx, hs, onehost.NewListener(ln, s.metrics.repaired.Inc), grace, opt)
	if err != nil {
		return fmt.Errorf("serve web services on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Reasons for which requests are dropped.
var (
	reasons    drops.List
	notDropped drops.Reason

	droppedRate      = reasons.Add("rate")           // more than the address may send
	droppedBanned    = reasons.Add("banned")         // the address is banned
	droppedUnknown   = reasons.Add("unknown")        // no backend has the host and the path
	droppedVerb      = reasons.Add("http_method")    // the path knows no such method of HTTP
	droppedLarge     = reasons.Add("too_large")      // the body is larger than the request may be
	droppedBusy      = reasons.Add("busy")           // too many bytes of bodies are in memory
	droppedCut       = reasons.Add("cut_off")        // the body ended early or came too slowly
	droppedMalformed = reasons.Add("malformed")      // the body is not a request
	droppedMethod    = reasons.Add("unknown_method") // the backend has no such method
	droppedPanic     = reasons.Add("panic")
)

// metrics are the counters of all backends.
type metrics struct {
	requests *prometheus.CounterVec // request
	unknown  *prometheus.CounterVec // host
	repaired prometheus.Counter

	mismatched prometheus.Counter // the body decides

	handshakes *prometheus.CounterVec // outcome
}

func newMetrics(reg prometheus.Registerer, requests, hosts []string, pending func() int) *metrics {
	f := metric.With(reg)
	f.GaugeFunc("respawnd_webservices_handshakes", "Handshakes of SSL 3.0 under way.", pending)
	return &metrics{
		requests: f.Counters("respawnd_webservices_requests_total", "Requests that were executed, by method or page.", "request", requests...),
		unknown: f.Counters("respawnd_webservices_unknown_total", "Requests for hosts and paths that do not exist, by form of the host.",
			"host", append(slices.Clone(hosts), otherHost)...),
		mismatched: f.Counter("respawnd_webservices_mismatched_total", "Requests whose SOAPAction names another method than their body, which decides."),
		repaired:   f.Counter("respawnd_webservices_repaired_total", "Host lines that were removed from requests because they came twice."),
		handshakes: f.Counters("respawnd_webservices_handshakes_total", "Handshakes of SSL 3.0, by how they ended.", "outcome", outcomes()...),
	}
}
