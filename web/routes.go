package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// Content types.
const (
	jsonType = "application/json; charset=utf-8"
	htmlType = "text/html; charset=utf-8"
	cssType  = "text/css; charset=utf-8"
	textType = "text/plain; charset=utf-8"
	svgType  = "image/svg+xml"

	scriptType = "text/javascript; charset=utf-8"
)

// contentPolicy lets the pages use our own files, forms and events and nothing
// else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	apiPrefix  = "/api/"
	stylePath  = "/assets/style.css"
	livePath   = "/assets/live.js"
	iconPath   = "/assets/icon.svg"
	eventsPath = "/api/v1/events"
	docsPath   = "/docs"
	otherPath  = "other" // label for what has no route
)

// route is a path with its handler. The pattern is a label of metrics, too.
type route struct {
	pattern string
	serve   http.HandlerFunc
}

// routes returns every path that is served.
func (s *Server) routes() []route {
	routes := []route{
		{"/{$}", s.serveHome},
		{"/servers", s.serveList},
		{"/servers/{id}", s.serveServerPage},
		{"/games", s.serveCatalogue},
		{"/games/{name}", s.serveGamePage},
		{"/games/{name}/hosts.txt", s.serveHosts},
		{"/why", s.serveWhy},
		{accountPrefix, s.account((*visit).serveAccount)},
		{"/account/login", s.account((*visit).serveLogin)},
		{"/account/logout", s.account((*visit).serveLogout)},
		{"/account/register", s.account((*visit).serveRegister)},
		{"/account/password", s.change("password", "account.password", changePassword)},
		{"/account/email", s.change("email", "account.email", changeEmail)},
		{"/account/profile", s.change("nick", "account.profile_add", addProfile)},
		{"/account/nick", s.change("renamed", "account.nick", renameProfile)},
		{"/account/uniquenick", s.change("uniquenick", "account.uniquenick", changeUniqueNick)},
		{"/account/drop", s.change("dropped", "account.profile_remove", dropProfile)},
		{"/account/delete", s.account((*visit).serveDelete)},
		{stylePath, s.serveAsset(s.pages.style)},
		{livePath, s.serveAsset(s.pages.live)},
		{iconPath, s.serveAsset(s.pages.icon)},
		{"/api/v1/servers", s.serveServers},
		{"/api/v1/servers/{id}", s.serveServer},
		{"/api/v1/servers/{id}/history", s.serveHistory},
		{"/api/v1/games", s.serveGames},
		{"/api/v1/games/{name}", s.serveGame},
		{"/api/v1/stats", s.serveStats},
		{eventsPath, s.serveEvents},
		{"/api/v1/openapi.json", s.serveOpenAPI},
	}
	if docs := s.opt.Docs; docs != nil {
		routes = append(routes, route{docsPath, docs.ServeHTTP}, route{docsPath + "/", docs.ServeHTTP})
	}
	return routes
}

// mux returns the multiplexer.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.pattern, r.serve)
	}
	mux.HandleFunc("/", s.notFound)
	return mux
}

// wrap puts what all requests have in common around the routes: headers, bounds,
// allowed methods, contained panics, counting.
func (s *Server) wrap(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(raw http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &recorder{ResponseWriter: raw}
		defer func() {
			s.metrics.answered(label(r.Pattern), w.status, time.Since(began))
		}()
		defer s.contain(w, r)
		setHeaders(w.Header(), r.URL.Path)
		switch {
		case !s.mayAsk(r, began):
			s.opt.Metrics.Drop(dropRate)
			w.Header().Set("Retry-After", "1")
			s.fail(w, r, http.StatusTooManyRequests, "too many requests from your address, try again")
		case isPreflight(r):
			allowCrossOrigin(w)
		case r.Method == http.MethodPost && s.takesForms(r.URL.Path):
			routes.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			s.opt.Metrics.Drop(dropMethod)
			w.Header().Set("Allow", "GET, HEAD")
			s.fail(w, r, http.StatusMethodNotAllowed, "only GET and HEAD are allowed")
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

// takesForms reports whether a path may be behind a form that changes something.
func (s *Server) takesForms(path string) bool {
	return s.accountsOn() && strings.HasPrefix(path, accountPrefix+"/")
}

// mayAsk reports whether a request is within the rate of its visitor.
func (s *Server) mayAsk(r *http.Request, now time.Time) bool {
	p, from := s.policy.Load(), s.visitor(r)
	return p.exempt(from) || p.requests.Allow(from, now)
}

// isPreflight reports whether a browser asks what a script of another origin may
// send to the API.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" && strings.HasPrefix(r.URL.Path, apiPrefix)
}

// allowCrossOrigin answers a preflight: reading, with the headers that the API
// knows.
func allowCrossOrigin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "If-None-Match, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}

// label returns the metric label for the pattern of the route that was taken.
func label(pattern string) string {
	switch pattern {
	case "", "/":
		return otherPath
	case "/{$}":
		return "/"
	}
	return pattern
}

func setHeaders(h http.Header, path string) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(path, apiPrefix) {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "ETag, Retry-After")
	}
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int // 0: nothing sent yet
}

// WriteHeader notes the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write notes that an answer without a status is 200.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// contain must be deferred around the routes. A panic costs its request: it is
// counted and logged, and the client gets 500, or a broken connection if a part
// of the answer is on its way.
func (s *Server) contain(w *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // the way to give up a connection, not a mistake
	}
	s.metrics.panics.Inc()
	s.opt.Metrics.Drop(dropPanic)
	if s.mayLogPanic() {
		text := fmt.Sprint(v)
		s.opt.Log.Error().Str("panic", text[:min(len(text), maxServerLog)]).Str("path", label(r.Pattern)).Bytes("stack", debug.Stack()).Msg("handler panicked")
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Del("ETag")
	w.Header().Del("Content-Encoding")
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		failJSON(w, http.StatusInternalServerError, "internal error")
		return
	}
	http.Error(w, "internal error", http.StatusInternalServerError) // no template, which may be to blame
}

// mayLogPanic keeps a request that panics again and again from filling the log.
func (s *Server) mayLogPanic() bool { return s.isNewsAt(time.Now()) }

// isNewsAt is mayLogPanic at a time of the wall clock, which may have been put
// back since the last panic: that is news, too.
func (s *Server) isNewsAt(now time.Time) bool {
	last := s.panicLogged.Load()
	since := now.UnixNano() - last
	return (since < 0 || since >= int64(panicAgain)) && s.panicLogged.CompareAndSwap(last, now.UnixNano())
}

// send sends an answer of 200.
func (s *Server) send(w http.ResponseWriter, r *http.Request, contentType string, a *answer) {
	if !s.outbox.add(a) {
		s.opt.Metrics.Drop(dropBusy)
		w.Header().Del("ETag")
		w.Header().Del("Content-Encoding")
		w.Header().Set("Retry-After", "1")
		s.fail(w, r, http.StatusServiceUnavailable, "too much is being sent, try again")
		return
	}
	defer s.outbox.done(a)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = bytes.NewReader(a.body).WriteTo(w) // if it fails, the client is gone: nobody is left to tell
	}
}

// refuse answers a bad parameter of the API.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	s.opt.Metrics.Drop(dropParam)
	failJSON(w, http.StatusBadRequest, clean.Cut(err.Error(), clean.MaxEcho))
}

// notFound answers every path that has no route.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusNotFound, "there is nothing here")
}

func (s *Server) notFoundJSON(w http.ResponseWriter) {
	failJSON(w, http.StatusNotFound, "no such server")
}

// fail answers with an error, as JSON under /api/ and as a page elsewhere.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		failJSON(w, status, text)
		return
	}
	body := s.pages.failure(status, text)
	w.Header().Set("Content-Type", htmlType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func failJSON(w http.ResponseWriter, status int, text string) {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// contentTag returns a strong tag for a body.
func contentTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
