package nas

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/metric"
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

func (r *Backend) note(q *soap.Request, v verdicts.Verdict, detail string) {
	detail = clean.Line(detail, maxDetail)
	r.opt.Verdicts.NoteDetail(r.opt.Name, q.From.Addr(), q.Game, v, detail)
	r.opt.Log.Debug().Stringer("peer", q.From).Stringer("verdict", v).Str("detail", detail).Msg("console of Nintendo")
}

// unknown notes a request for something that is not here.
func (r *Backend) unknown(q *soap.Request, what string) { r.note(q, verdicts.UnknownRequest, what) }

// ConsoleConfig is the part of section webservices of the configuration about consoles of
// Nintendo. The comment of each field explains its key.
type ConsoleConfig struct {
	// Sign-in, connection test and downloads of DS and Wii, true or false.
	NAS bool `key:"nas" default:"true"`
	// Consoles of Nintendo that have not signed in here before, true or false. true:
	// they get an account. false: only those that have one are let in.
	NASNewConsoles bool `key:"nas_new_consoles" default:"true" live:"true"`
	// Binds the accounts of these consoles to the hardware address too, true or false.
	// false: everyone who knows the user id of a console signs in as its player, and
	// players can learn that of others. A change gives all consoles other accounts.
	NASHardware bool `key:"nas_hardware" default:"true"`
	// Folder with files that games of these consoles download, one folder below it for
	// each game, named after the game's code of four letters and digits in upper case.
	// Empty: none.
	NASDownloads string `key:"nas_downloads" as:"text" live:"true"`
}

// CheckConsoles returns the mistake in the configuration that can be found on this machine.
func (c *ConsoleConfig) CheckConsoles() error {
	if c.NASDownloads == "" {
		return nil
	}
	info, err := os.Stat(c.NASDownloads)
	if err != nil {
		return fmt.Errorf("webservices.nas_downloads: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("webservices.nas_downloads: %s is not a folder", c.NASDownloads)
	}
	return nil
}

// Requests, as metrics name them.
const (
	requestTest     = "conntest"
	requestCreate   = "acctcreate"
	requestLogin    = "login"
	requestLocate   = "svcloc"
	requestWords    = "pr"
	requestCount    = "count"
	requestList     = "list"
	requestContents = "contents"
	requestOther    = "other"
)

// Results of requests, as metrics name them.
const (
	resultOK        = "ok"
	resultMalformed = "malformed" // the body is no form
	resultBadField  = "bad_field"
	resultUnknown   = "unknown" // there is no such action or path
	resultBanned    = "banned"  // the account is
	resultClosed    = "closed"  // the console is new, and new ones are not accepted
	resultThrottled = "throttled"
	resultDeleted   = "deleted" // the profile was
	resultNotFound  = "not_found"
	resultCut       = "cut_off" // the client did not read the whole file
	resultFailed    = "failed"  // the store or the disk failed
)

type metrics struct {
	requests *prometheus.CounterVec // request, result
	sent     prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := metric.With(reg)
	return &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "respawnd_webservices_nas_total", Help: "Requests of consoles of Nintendo, by result.",
		}, []string{"request", "result"}),
		sent: f.Counter("respawnd_webservices_nas_sent_bytes_total", "Size of files that consoles of Nintendo downloaded."),
	}
}

func (r *Backend) done(request, result string) {
	r.metrics.requests.WithLabelValues(request, result).Inc()
}
