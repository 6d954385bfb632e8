package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// leftOutTrailer is the trailer of an export: the number of records left
// out. An export without it is incomplete.
const leftOutTrailer = "Respawnd-Left-Out"

var errNoSuchPath = errors.New("no such path")

// routes returns the API, in the order in which it lists itself: the operations, and what is about
// this process alone. It lists only routes whose nouns exist; the others still answer, for data of
// services that were on before.
func (s *Server) routes() (all []Route) {
	for _, o := range operator.Operations() {
		all = append(all, Route{Method: o.Method(), Path: o.Path(), What: o.Described(), handle: s.handler(o), of: o.About})
	}
	return append(all,
		Route{Method: "GET", Path: "/api/v1/routes", What: "all routes with a description: this list", handle: s.getRoutes},
		Route{Method: "GET", Path: "/api/v1/log", What: "the last lines of the log: ?level=, ?limit=", handle: s.getLog},
		Route{Method: "GET", Path: "/api/v1/log/stream", What: "new lines of the log as server-sent events: ?level=", handle: s.streamLog},
		Route{Method: "GET", Path: profilePath, What: "profiles of the running program, if admin.pprof is on: ?seconds=, ?gc=1, ?debug=1", handle: s.getProfile},
	)
}

// Route is one route of the API.
type Route struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with {id} or {name} for the part that varies
	What   string `json:"what"` // description, with its parameters
	handle http.HandlerFunc
	of     noun.Noun // the list of routes has it only where that exists
}

func (s *Server) register(mux *http.ServeMux) {
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, errNoSuchPath)
	})
	for _, r := range s.routes() {
		mux.HandleFunc(r.Method+" "+r.Path, r.handle)
	}
}

func (s *Server) getRoutes(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Routes []Route `json:"routes"`
	}{slices.DeleteFunc(s.routes(), func(r Route) bool { return !s.opt.Nouns.Has(r.of) })})
}

func (s *Server) handler(o *operator.Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, err := o.Read(r)
		switch {
		case err != nil:
			s.fail(w, r, err)
		case o.IsStream():
			s.send(w, r, o, in)
		default:
			out, err := s.opt.Operator.Do(r.Context(), o, in)
			s.answer(w, r, o, out, err)
		}
	}
}

// answer writes the output of an operation, or an error.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, o *operator.Operation, out any, err error) {
	extendDeadline(w) // the operation may have taken long
	contentType, body := "", []byte(nil)
	if err == nil {
		contentType, body, err = o.Encode(out)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	apiHeaders(w.Header(), contentType)
	_, _ = w.Write(body) // a client that disconnected is not logged
}

// send answers with a stream, before it is known to be whole. Browsers save files and never show
// them.
func (s *Server) send(w http.ResponseWriter, r *http.Request, o *operator.Operation, in any) {
	out := &stream{w: w}
	netserve.SetState(r.Context(), netserve.StateStream)
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it may last longer than a request; test writers have none
	h := w.Header()
	h.Set("Content-Type", o.Type)
	h.Set("Cache-Control", "no-store")
	if o.Type == operator.Lines {
		h.Set("Trailer", leftOutTrailer)
	}
	if ref, ok := in.(operator.FileRef); ok {
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="file-%d.bin"`, ref.ID))
	}
	leftOut, err := s.opt.Operator.Write(r.Context(), o, in, out)
	switch {
	case err != nil:
		s.breakOff(out, r, o.Name+" broke off", err)
	case o.Type == operator.Lines:
		h.Set(leftOutTrailer, strconv.Itoa(leftOut))
	}
}

// breakOff ends an answer after an error. Once the answer has begun, it is too
// late for an error status: the connection is cut, so that the client does not
// take a part for the whole.
func (s *Server) breakOff(out *stream, r *http.Request, message string, err error) {
	if out.begun {
		s.opt.Log.Error().Err(err).Msg(message)
		panic(http.ErrAbortHandler)
	}
	out.w.Header().Del("Trailer")
	out.w.Header().Del("Content-Disposition")
	s.fail(out.w, r, err)
}

// stream is the body of an answer of any length.
type stream struct {
	w     http.ResponseWriter
	begun bool // data was written
}

func (s *stream) Write(p []byte) (int, error) {
	s.begun = true
	extendDeadline(s.w)
	return s.w.Write(p)
}

// Flush sends what was written.
func (s *stream) Flush() error { return http.NewResponseController(s.w).Flush() }

// apiHeaders are those of every answer of the API.
func apiHeaders(h http.Header, contentType string) {
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	apiHeaders(w.Header(), "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that disconnected is not logged
}

// problem is the body of every error.
type problem struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, problem{clean.Cut(err.Error(), clean.MaxEcho)})
}

// fail answers an error with its status.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	writeError(w, s.classify(r, err), err)
}

// classify returns the status of an error, and logs errors of the server.
func (s *Server) classify(r *http.Request, err error) int {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, storage.ErrTaken), errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrFull):
		return http.StatusConflict
	case errors.Is(err, operator.ErrBadRequest), errors.Is(err, storage.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, operator.ErrNoChat):
		return http.StatusNotImplemented
	case errors.Is(err, operator.ErrNotRunning), errors.Is(err, storage.ErrUnavailable): // the log has a line about the database
		return http.StatusServiceUnavailable
	}
	s.opt.Log.Error().Str("path", clean.Cut(r.URL.Path, clean.MaxEcho)).Str("error", clean.Cut(err.Error(), clean.MaxEcho)).Msg("admin request not carried out")
	return http.StatusInternalServerError
}
