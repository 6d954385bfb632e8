package nas

import (
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Options are the parts of a Backend. Users and Grants are required.
type Options struct {
	part.Self
	part.Peers

	Config ConsoleConfig
	Users  *accounts.Users
	Grants *accounts.Grants
	// MayRegister reports whether an address may make one more account, and counts it;
	// nil: it may.
	MayRegister func(netip.Addr) bool
}

// Backend answers consoles. All methods may be called concurrently.
type Backend struct {
	opt     Options
	config  atomic.Pointer[ConsoleConfig] // never nil
	metrics *metrics
	faults  netserve.Trouble
}

// New returns a backend. It panics if the registerer has other metrics of the same names.
func New(opt Options) *Backend {
	r := &Backend{opt: opt, metrics: newMetrics(opt.Registerer)}
	r.Reload(opt.Config)
	return r
}

// Reload applies the live keys of a configuration.
func (r *Backend) Reload(c ConsoleConfig) { r.config.Store(&c) }

// First labels of hosts.
const (
	hostTest      = "conntest"
	hostNAS       = "nas"
	hostNASWii    = "naswii"
	hostDownloads = "dls1"
)

// pageTest is the name of the connection test in metrics.
const pageTest = "nas.conntest"

// Names returns the names of the pages that Find returns, for metrics.
func Names() []string { return []string{pageTest} }

// Pages returns the paths of the backend.
func (r *Backend) Pages() []soap.Page {
	sign, files := []string{hostNAS + ".{d}", hostNASWii + ".{d}"}, []string{hostDownloads + ".{d}"}
	return []soap.Page{
		{Name: "nas.ac", Hosts: sign, Path: "/ac", Serve: r.posted(r.ac), MaxBody: maxBody},
		{Name: "nas.pr", Hosts: sign, Path: "/pr", Serve: r.posted(r.pr), MaxBody: maxBody},
		{Name: "nas.download", Hosts: files, Path: "/download", Serve: r.posted(r.download), MaxBody: maxBody},
	}
}

// Find returns the page for a path of no other backend: the connection test.
func (r *Backend) Find(host, _ string) (page *soap.Page, game string, ok bool) {
	label, domain, _ := strings.Cut(host, ".")
	if domain == "" || label != hostTest && label != hostNAS && label != hostNASWii {
		return nil, "", false
	}
	return &soap.Page{Name: pageTest, Serve: r.test}, "", true
}

// test answers the connection test.
func (r *Backend) test(w http.ResponseWriter, req *http.Request, q *soap.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		r.unknown(q, req.Method+" "+q.Host+q.Path)
		r.done(requestOther, resultUnknown)
		http.NotFound(w, req)
		return
	}
	if strings.HasPrefix(q.Host, hostTest+".") {
		r.note(q, verdicts.ConsoleTested, "")
	}
	r.done(requestTest, resultOK)
	h := w.Header()
	h.Set("Content-Type", "text/html")
	h.Set("X-Organization", "Nintendo")
	h.Set("Content-Length", "2")
	_, _ = io.WriteString(w, "ok") // if it fails, the client is gone
}

// posted returns a function that serves a page for forms: serve gets the form of the client.
func (r *Backend) posted(serve func(http.ResponseWriter, *http.Request, *soap.Request, Form)) func(http.ResponseWriter, *http.Request, *soap.Request) {
	return func(w http.ResponseWriter, req *http.Request, q *soap.Request) {
		if req.Method != http.MethodPost {
			r.test(w, req, q)
			return
		}
		body, err := io.ReadAll(req.Body)
		var f Form
		if err == nil {
			f, err = ParseForm(body)
		}
		if err != nil {
			r.refuse(w, q, requestOther, "no form")
			return
		}
		serve(w, req, q, f)
	}
}

// refuse answers a request that cannot be read.
func (r *Backend) refuse(w http.ResponseWriter, q *soap.Request, request, why string) {
	r.done(request, resultMalformed)
	r.note(q, verdicts.MalformedRequest, why)
	http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
}

// answer sends a reply that is a form.
func answer(w http.ResponseWriter, f Form) {
	b := append(f.Append(nil), "\r\n"...)
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	h.Set("NODE", "wifiappe1")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b) // if it fails, the client is gone
}

// reply returns the first fields of all replies of /ac.
func reply(code, retry string) Form {
	return Form{
		{"retry", []byte(retry)}, {"datetime", []byte(time.Now().UTC().Format("20060102150405"))}, {"returncd", []byte(code)},
	}
}

// maxDetail is the length of a detail of a verdict, in characters.
const maxDetail = 80

// note notes a verdict on the address of a request.
func (r *Backend) note(q *soap.Request, v verdicts.Verdict, detail string) {
	detail = clean.Line(detail, maxDetail)
	r.opt.Verdicts.NoteDetail(r.opt.Name, q.From.Addr(), q.Game, v, detail)
	r.opt.Log.Debug().Stringer("peer", q.From).Stringer("verdict", v).Str("detail", detail).Msg("console of Nintendo")
}

// unknown notes a request for something that is not here.
func (r *Backend) unknown(q *soap.Request, what string) { r.note(q, verdicts.UnknownRequest, what) }
