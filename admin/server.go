package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// Options configure a Server. All but Ready and Log are required.
type Options struct {
	Operator Operator
	Token    string // empty: nobody is let in
	// Ready returns what is not ready yet, nil when the daemon serves.
	Ready func() error
	// Status is shown under /api/v1/status; it must be encodable as JSON.
	Status   func() any
	Gatherer prometheus.Gatherer
	Log      zerolog.Logger
}

// Server answers on the admin address.
type Server struct {
	opt   Options
	token [sha256.Size]byte
}

// New returns a Server.
func New(opt Options) *Server {
	return &Server{opt: opt, token: sha256.Sum256([]byte(opt.Token))}
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
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if srv.Shutdown(bounded) != nil {
			_ = srv.Close()
		}
	})
	err := srv.Serve(ln)
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Handler returns the routes. Everything under /api/v1/, known or not, wants
// the token.
func (s *Server) Handler() http.Handler {
	api := http.NewServeMux()
	s.routes(api)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.opt.Gatherer, promhttp.HandlerOpts{}))
	guarded := s.authorized(api)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Before the mux: it answers odd paths with a redirect of its own.
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
	writeText(w, http.StatusOK, "ready\n")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // a client that went away is no news
}

// authorized lets only holders of the token through. Both sides are hashed, so
// that the comparison takes the same time whatever was sent.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if s.opt.Token == "" || !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], s.token[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="respawnd"`)
			writeError(w, http.StatusUnauthorized, ErrUnauthorized)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that went away is no news
}

// problem is the body of every error.
type problem struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, problem{err.Error()})
}

// fail answers an error with the status that fits it.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, storage.ErrNotFound):
		code = http.StatusNotFound
	case errors.Is(err, storage.ErrTaken), errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrFull):
		code = http.StatusConflict
	case errors.Is(err, ErrBadRequest), errors.Is(err, storage.ErrInvalid):
		code = http.StatusBadRequest
	default:
		s.opt.Log.Error().Str("path", r.URL.Path).Err(err).Msg("admin request not carried out")
	}
	writeError(w, code, err)
}
