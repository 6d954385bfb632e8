package admin

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/web/session"
)

// Options configure a Server. Operator, Tail and Gatherer are required.
type Options struct {
	part.Self
	part.Catalogue
	service.Operations

	Token  string // empty: no request is authorized
	Config Config

	// Protocols are the names of those in which an added server can be queried.
	Protocols []string
}

// Server answers on the admin address.
type Server struct {
	opt      Options
	token    [sha256.Size]byte
	assets   *assets
	sessions *session.Table[string, notice]
	forms    *session.Forms
	logins   *logins
	metrics  *metrics
	conns    *netserve.Metrics
	streams  chan struct{} // holds a value for each reader of the log
	profiles chan struct{} // holds a value for each profile that is taken
}

// New returns a Server.
func New(opt Options) *Server {
	s := &Server{
		opt: opt, token: sha256.Sum256([]byte(opt.Token)), assets: loadAssets(),
		sessions: newPageSessions(), forms: session.NewForms(), logins: newLogins(), streams: make(chan struct{}, maxStreams), profiles: make(chan struct{}, maxProfiles),
	}
	s.metrics = newMetrics(opt.Registerer, s.sessions.Len)
	s.conns = netserve.NewMetrics(opt.Registerer, "admin")
	return s
}

// Bounds of the HTTP service.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 60 * time.Second
	stopTimeout       = 2 * time.Second
	maxHeader         = 16 << 10
	maxBody           = 16 << 20 // an imported list of games
)

// Serve answers on ln until ctx ends. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(zerolog.NewSlogHandler(s.opt.Log), slog.LevelWarn),
	}
	return netserve.ServeHTTPUntil(ctx, srv, ln, stopTimeout, netserve.ConnOptions{
		MaxConns: maxConns, MaxPerAddr: maxConnsPerAddr, Metrics: s.conns, Log: s.opt.Log,
	})
}

// Handler returns the routes. Everything under /api/v1/, known or not, wants
// the token; pages want a session. Pages and metrics want a known host.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	s.register(api)
	pages := http.NewServeMux()
	s.pages(pages)
	mux := http.NewServeMux()
	mux.Handle("/", s.guarded(pages))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, healthy) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.guarded(promhttp.HandlerFor(s.opt.Gatherer, promhttp.HandlerOpts{})))
	guarded := s.authorized(api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		extendDeadline(w)
		// Checked before the mux, which would redirect unclean paths.
		if strings.HasPrefix(r.URL.Path, "/api/v1/") {
			guarded.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.opt.Ready != nil {
		if err := s.opt.Ready(); err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error()+"\n")
			return
		}
	}
	text := "ready\n"
	if s.opt.Trouble != nil {
		if err := s.opt.Trouble(); err != nil {
			text += "warning: " + err.Error() + "\n"
		}
	}
	writeText(w, http.StatusOK, text)
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // a client that disconnected is not logged
}

// authorized rejects requests without the token. Both sides are hashed, so that
// the comparison takes constant time.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		right := s.rightToken(strings.TrimSpace(given)) && strings.EqualFold(scheme, "Bearer")
		err := operator.ErrUnauthorized
		switch inQuery := s.tokenInQuery(r); {
		case inQuery:
			err = errTokenInQuery
			s.metrics.refuse(refusedQuery)
		case !right && scheme == "":
			s.metrics.refuse(refusedNoToken)
		case !right:
			s.wrongToken(w, r)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r.WithContext(operator.WithActor(r.Context(), apiActor(r))))
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="respawnd"`)
		writeError(w, http.StatusUnauthorized, err)
	})
}

// wrongToken counts a request with a wrong token. Beyond the limits of logins the client is
// asked to wait, and has to connect again for another attempt.
func (s *Server) wrongToken(w http.ResponseWriter, r *http.Request) {
	peer, now := peerOf(r), time.Now()
	if !s.logins.allow(peer, now) {
		s.metrics.refuse(refusedTokenRate)
		w.Header().Set("Retry-After", retryAfterLogin)
		w.Header().Set("Connection", "close")
		return
	}
	s.metrics.refuse(refusedToken)
	if s.logins.told.Allow(peer, now) {
		s.opt.Log.Warn().Stringer("peer", peer).Msg("request to the admin API with a wrong token; further ones are counted in respawnd_admin_refused_total")
	}
}

// guarded rejects requests from foreign sites, and those with a token in the
// URL.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pageHeaders(w.Header())
		switch {
		case s.tokenInQuery(r):
			s.metrics.refuse(refusedQuery)
			writeText(w, http.StatusBadRequest, errTokenInQuery.Error()+"\n")
		case !s.knownHost(r):
			s.metrics.refuse(refusedHost)
			writeText(w, http.StatusMisdirectedRequest,
				"this page is not known under that host name; use an IP address or localhost, or add the name to admin.names\n")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// Reasons under which refused requests are counted.
const (
	refusedNoToken   = "no_token"    // no token
	refusedToken     = "token"       // a wrong one
	refusedTokenRate = "token_rate"  // a wrong one, beyond the limits of logins
	refusedQuery     = "query_token" // a token in the address
	refusedHost      = "host"        // an unknown host name
	refusedForgery   = "forgery"     // a form that did not come from a page of the session
	refusedBody      = "body"        // a form that is too long or cannot be read
	refusedStreams   = "streams"     // more readers of the log than maxStreams
	refusedProfiles  = "profiles"    // more profiles at a time than maxProfiles
)

// Results of logins to the page.
const (
	loginDone      = "done"
	loginWrong     = "wrong"
	loginThrottled = "throttled"
)

type metrics struct {
	refused *prometheus.CounterVec
	logins  *prometheus.CounterVec
	streams prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, sessions func() int) *metrics {
	in := metric.With(reg)
	in.GaugeFunc("respawnd_admin_page_sessions", "Operators logged in to the admin page.", sessions)
	return &metrics{
		refused: in.Counters("respawnd_admin_refused_total", "Requests refused, by reason.", "reason",
			refusedNoToken, refusedToken, refusedTokenRate, refusedQuery, refusedHost, refusedForgery, refusedBody, refusedStreams, refusedProfiles),
		logins:  in.Counters("respawnd_admin_logins_total", "Logins to the admin page, by result.", "result", loginDone, loginWrong, loginThrottled),
		streams: in.Gauge("respawnd_admin_log_streams", "Readers who watch the log."),
	}
}

// refuse counts a refusal.
func (m *metrics) refuse(reason string) { m.refused.WithLabelValues(reason).Inc() }
