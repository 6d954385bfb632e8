package front

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
)

// Content types.
const (
	JSON = "application/json; charset=utf-8"
	HTML = "text/html; charset=utf-8"
	Text = "text/plain; charset=utf-8"
)

// contentPolicy lets pages use our own files, forms and events and nothing else.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const (
	// EventsPath is the path of the event stream, which lasts as long as its client
	// likes.
	EventsPath = "/api/v1/events"

	apiPrefix = "/api/"
	otherPath = "other" // label of requests without a route
)

// Route is a path with its handler. The pattern is a label of metrics, too.
type Route struct {
	Pattern string
	Serve   http.HandlerFunc
	Of      noun.Noun // the route exists only where it does
}

// Existing returns the routes that exist where some nouns do.
func Existing(routes []Route, nouns noun.Set) []Route {
	return slices.DeleteFunc(routes, func(r Route) bool { return !nouns.Has(r.Of) })
}

// Handler returns the handler of all routes, with the common parts of all
// requests: headers, bounds, allowed methods, contained panics, counting. Every
// path without a route is answered with 404.
func (f *Front) Handler(routes []Route) http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.Pattern, r.Serve)
	}
	mux.HandleFunc("/", f.NotFound)
	return f.wrap(mux)
}

func (f *Front) wrap(routes http.Handler) http.Handler {
	return http.HandlerFunc(func(raw http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &recorder{ResponseWriter: raw}
		defer func() {
			f.metrics.answered(label(r.Pattern), w.status, time.Since(began))
		}()
		defer f.contain(w, r)
		setHeaders(w.Header(), r.URL.Path)
		switch {
		case !f.mayAsk(r, began):
			f.Drop(dropRate)
			w.Header().Set("Retry-After", "1")
			f.Fail(w, r, http.StatusTooManyRequests, "too many requests from your address, try again")
		case isPreflight(r):
			allowCrossOrigin(w)
		case f.opt.Choose != nil && !strings.HasPrefix(r.URL.Path, apiPrefix) && f.opt.Choose(w, r):
		case r.Method == http.MethodPost && f.opt.TakesForms != nil && f.opt.TakesForms(r.URL.Path):
			routes.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			f.Drop(dropMethod)
			w.Header().Set("Allow", "GET, HEAD")
			f.Fail(w, r, http.StatusMethodNotAllowed, "only GET and HEAD are allowed")
		default:
			routes.ServeHTTP(w, r)
		}
	})
}

// isPreflight reports whether a browser asks which requests to the API a script of
// another origin may send.
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

// PageHeaders sets the headers that all pages have, those of operators too: nothing
// is loaded from elsewhere, no script runs that is not ours, and no other site shows
// a page inside of its own.
func PageHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func setHeaders(h http.Header, path string) {
	PageHeaders(h)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(path, apiPrefix) || strings.HasPrefix(path, "/json/") {
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
func (f *Front) contain(w *recorder, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // aborts a connection on purpose
	}
	f.metrics.panics.Inc()
	f.Drop(dropPanic)
	if f.mayLogPanic() {
		text := fmt.Sprint(v)
		f.opt.Log.Error().Str("panic", text[:min(len(text), netserve.MaxHTTPLog)]).Str("path", label(r.Pattern)).Bytes("stack", debug.Stack()).Msg("handler panicked")
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Del("ETag")
	w.Header().Del("Content-Encoding")
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		FailJSON(w, http.StatusInternalServerError, "internal error")
		return
	}
	http.Error(w, "internal error", http.StatusInternalServerError) // no template, which may be to blame
}

// mayLogPanic keeps a request that panics again and again from filling the log.
func (f *Front) mayLogPanic() bool { return f.isNewsAt(time.Now()) }

// isNewsAt is mayLogPanic at a time of the wall clock, which may have been put
// back since the last panic: that is news, too.
func (f *Front) isNewsAt(now time.Time) bool {
	last := f.panicLogged.Load()
	since := now.UnixNano() - last
	return (since < 0 || since >= int64(panicAgain)) && f.panicLogged.CompareAndSwap(last, now.UnixNano())
}

// Send sends an answer of 200.
func (f *Front) Send(w http.ResponseWriter, r *http.Request, contentType string, a *Answer) {
	if !f.outbox.add(a) {
		f.Drop(dropBusy)
		w.Header().Del("ETag")
		w.Header().Del("Content-Encoding")
		w.Header().Set("Retry-After", "1")
		f.Fail(w, r, http.StatusServiceUnavailable, "too much is being sent, try again")
		return
	}
	defer f.outbox.done(a)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = bytes.NewReader(a.body).WriteTo(w) // if it fails, the client is gone
	}
}

// NotFound answers a request for a path that does not exist.
func (f *Front) NotFound(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, apiPrefix) {
		FailJSON(w, http.StatusNotFound, "there is nothing here; /api/v1/openapi.json describes what there is")
		return
	}
	f.Fail(w, r, http.StatusNotFound, "there is nothing here")
}

// Fail answers with an error, as JSON under /api/ and as a page elsewhere.
func (f *Front) Fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	if strings.HasPrefix(r.URL.Path, apiPrefix) || f.opt.ErrorPage == nil {
		FailJSON(w, status, text)
		return
	}
	WritePage(w, status, f.opt.ErrorPage(w, r, status, text))
}

// WritePage sends a page with a status other than 200.
func WritePage(w http.ResponseWriter, status int, body []byte) { write(w, status, HTML, body) }

// FailJSON answers with an error of the API.
func FailJSON(w http.ResponseWriter, status int, text string) {
	body, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	write(w, status, JSON, append(body, '\n'))
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // if it fails, the client is gone
}

// ContentTag returns a strong tag for a body.
func ContentTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// NotModified sets the tag of the answer and sends 304 if the client has it.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	w.Header().Set("ETag", tag)
	if !tagMatches(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// tagMatches compares the tags that a client has, as If-None-Match lists them,
// with ours; weak and strong forms of a tag are the same here.
func tagMatches(have []string, tag string) bool {
	tag = strings.TrimPrefix(tag, "W/")
	for _, line := range have {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
