package webservices

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Handler returns the handler of all requests, for use in another server. Only
// Serve has bounds on connections and time-outs.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer s.contain(r)
	q := s.request(r)
	switch from := q.From.Addr(); {
	case !s.opt.Trusted.Has(from) && !s.rate.Load().Allow(from, time.Now()):
		s.refuse(w, http.StatusTooManyRequests, droppedRate)
		return
	case s.opt.Banned.Has(from):
		s.opt.Verdicts.NotePlayer(name, from, "", verdicts.Banned)
		s.refuse(w, http.StatusForbidden, droppedBanned)
		return
	}
	found, label, ok := s.router.find(q.Host, q.Path)
	if !ok {
		s.serveFile(w, r, q)
		return
	}
	if q.Label = label; label != "" {
		if g, known := s.opt.Games.Lookup(label); known {
			q.Game = g.Name
		}
	}
	if found.page != nil {
		s.servePage(w, r, q, found.page)
		return
	}
	s.serveSOAP(w, r, q, found.service)
}

// request returns the known facts about a request before it has a route.
func (s *Server) request(r *http.Request) *soap.Request {
	q := &soap.Request{Host: hostOf(r.Host), Path: r.URL.Path, Secure: r.Context().Value(secureKey{}) != nil}
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		q.From = netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port())
	}
	return q
}

// secureKey is the key of a context whose requests are encrypted.
type secureKey struct{}

// refuse answers with a status other than 200, which clients show as an error of
// HTTP.
func (s *Server) refuse(w http.ResponseWriter, status int, why drops.Reason) {
	s.opt.Metrics.Drop(why.Error())
	http.Error(w, http.StatusText(status), status)
}

// maxDetail is the length of a host and a path in a verdict, in characters.
const maxDetail = 120

// unknown answers a request that no backend has.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request, q *soap.Request) {
	s.metrics.unknown.WithLabelValues(patternOf(s.hosts, q.Host)).Inc()
	what := clean.Line(r.Method+" "+q.Host+q.Path, maxDetail)
	if action := actionOf(r); action != "" {
		what += " " + clean.Line(action, maxDetail)
	}
	s.opt.Verdicts.NoteDetail(name, q.From.Addr(), "", verdicts.UnknownRequest, what)
	s.opt.Log.Debug().Stringer("peer", q.From).Str("request", what).Msg("unknown request")
	s.refuse(w, http.StatusNotFound, droppedUnknown)
}

// serveFile answers a request that no backend has with a file that the catalogue knows.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, q *soap.Request) {
	for i := range s.backends {
		if s.backends[i].find == nil {
			continue
		}
		if page, game, ok := s.backends[i].find(q.Host, q.Path); ok {
			q.Game = game
			s.servePage(w, r, q, page)
			return
		}
	}
	s.unknown(w, r, q)
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, q *soap.Request, p *soap.Page) {
	s.metrics.requests.WithLabelValues(p.Name).Inc()
	r.Body = http.MaxBytesReader(w, r.Body, p.MaxBody)
	p.Serve(w, r, q)
}

// serveSOAP executes the method of a request.
func (s *Server) serveSOAP(w http.ResponseWriter, r *http.Request, q *soap.Request, service *soap.Service) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.refuse(w, http.StatusMethodNotAllowed, droppedVerb)
		return
	}
	handler, why := s.read(r, q, service)
	if why == droppedBusy {
		s.refuse(w, http.StatusServiceUnavailable, why)
		return
	}
	var answer []byte
	if why == notDropped {
		s.metrics.requests.WithLabelValues(service.Name + "." + q.Method).Inc()
		answer = handler(r.Context(), q)
	} else {
		answer = s.fault(r, q, service, why)
	}
	// The rest of the body is not read: clients announce more than they send.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	h := w.Header()
	h.Set("Content-Type", soap.ContentType)
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = bytes.NewReader(answer).WriteTo(w) // if it fails, the client is gone
}

// read reads the body of a request and returns the handler of its method, or the
// reason to drop it.
func (s *Server) read(r *http.Request, q *soap.Request, service *soap.Service) (h soap.Handler, why drops.Reason) {
	envelope, done, why := s.envelope(r, q, service)
	defer done()
	if why != notDropped {
		return nil, why
	}
	body, err := soap.Parse(envelope)
	if err != nil {
		return nil, droppedMalformed
	}
	q.Body, q.Method = body, body.Name
	if action := actionOf(r); action != "" && action != q.Method {
		s.metrics.mismatched.Inc()
	}
	h, ok := service.Methods[q.Method]
	if !ok {
		return nil, droppedMethod
	}
	return h, notDropped
}

// envelope returns the XML of a request. The caller must call done when it is no longer used.
func (s *Server) envelope(r *http.Request, q *soap.Request, service *soap.Service) (envelope []byte, done func(), why drops.Reason) {
	if service.DIME != nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/dime") {
		envelope, attachments, err := service.DIME(r)
		q.Attachments = attachments
		if err != nil {
			return nil, func() {}, droppedMalformed
		}
		return envelope, func() {}, notDropped
	}
	most := cmp.Or(service.MaxBody, soap.MaxBody)
	if r.ContentLength > int64(most) {
		return nil, func() {}, droppedLarge
	}
	body, err := s.bodies.read(r.Body, most)
	done = func() { s.bodies.bytes.Add(-int64(cap(body))) }
	switch {
	case errors.Is(err, errTooLarge):
		return nil, done, droppedLarge
	case errors.Is(err, errBusy):
		return nil, done, droppedBusy
	case err != nil:
		return nil, done, droppedCut
	}
	return body, done, notDropped
}

// actionOf returns the method that SOAPAction names, empty if it is missing.
func actionOf(r *http.Request) string {
	action := strings.Trim(r.Header.Get("SOAPAction"), "\" ")
	return action[strings.LastIndexByte(action, '/')+1:]
}

// fault returns the reply to a request that is not executed.
func (s *Server) fault(r *http.Request, q *soap.Request, service *soap.Service, why drops.Reason) []byte {
	s.opt.Metrics.Drop(why.Error())
	method := q.Method
	if method == "" {
		method = actionOf(r)
	}
	if !isElementName(method) {
		method = "Unknown"
	}
	v, detail := verdicts.MalformedRequest, ""
	if why == droppedMethod {
		v, detail = verdicts.UnknownRequest, q.Host+q.Path+" "+method
	}
	s.opt.Verdicts.NoteDetail(name, q.From.Addr(), q.Game, v, clean.Line(detail, maxDetail))
	s.opt.Log.Debug().Stringer("peer", q.From).Str("request", clean.Line(q.Host+q.Path+" "+method, maxDetail)).Str("reason", why.Error()).Msg("request refused")
	if service.Fault != nil {
		return service.Fault(method)
	}
	return soap.Reply(method, service.Namespace, func(*soap.Writer) {})
}

// isElementName reports whether a text may be the name of an element: letters and
// digits, a letter first.
func isElementName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// contain is deferred around a handler: a panic breaks the connection of its
// request, and is counted and logged.
func (s *Server) contain(r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		s.opt.Metrics.Drop(droppedPanic.Error())
		s.opt.Log.Error().Str("panic", clean.Line(fmt.Sprint(v), netserve.MaxHTTPLog)).Str("path", clean.Line(r.URL.Path, maxDetail)).Bytes("stack", debug.Stack()).Msg("handler panicked")
	}
	panic(http.ErrAbortHandler)
}

// maxBodies bounds the bodies of all requests that are in memory, in bytes.
const maxBodies = 64 << 20

// firstRead is how much memory a body gets at first.
const firstRead = 4 << 10

// Errors of reading a body.
var (
	errTooLarge = errors.New("the body is too large")
	errBusy     = errors.New("too many bodies are in memory")
)

type bodies struct{ bytes atomic.Int64 }

// take takes n bytes and reports whether there were as many left.
func (b *bodies) take(n int) bool {
	if b.bytes.Add(int64(n)) <= maxBodies {
		return true
	}
	b.bytes.Add(-int64(n))
	return false
}

// read reads a body of at most n bytes. Clients may announce more than they
// send: a body that ends like a request is complete. The caller gives the
// capacity of the result back with release, also after an error, and may use the bytes read before
// it was cut off.
func (b *bodies) read(r io.Reader, n int) (body []byte, err error) {
	for {
		if len(body) == cap(body) {
			if len(body) > n {
				return body, errTooLarge
			}
			grown := min(max(2*cap(body), firstRead), n+1)
			if !b.take(grown - cap(body)) {
				return body, errBusy
			}
			body = append(make([]byte, 0, grown), body...)
		}
		m, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+m]
		switch {
		case len(body) > n:
			return body, errTooLarge
		case errors.Is(err, io.EOF), m > 0 && endsEnvelope(body):
			return body, nil
		case err != nil:
			return body, err
		}
	}
}

// endsEnvelope reports whether a body ends with the end tag of an Envelope.
func endsEnvelope(body []byte) bool {
	body = bytes.TrimRight(body, " \t\r\n\x00")
	if !bytes.HasSuffix(body, []byte("Envelope>")) {
		return false
	}
	return bytes.HasPrefix(body[bytes.LastIndexByte(body, '<')+1:], []byte("/"))
}
