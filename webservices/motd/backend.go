package motd

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/query"
	"github.com/respawnd/respawnd/webservices/soap"
)

// noPatch is the answer to games without a patch.
const noPatch = `\newver\0`

// Options are the parts of a Backend. News is required.
type Options struct {
	part.Self

	Config NewsConfig
	News   *news.Table
	// Game returns the name in the catalogue of a game that a request names, empty if it
	// is unknown; nil: all are unknown.
	Game func(name string) string
	// Asked, if not nil, is called with the address, the game and the version of each game of the
	// catalogue that asks for a newer one.
	Asked func(from netip.Addr, game, version string)
}

// Backend answers requests for news. All methods may be called concurrently.
type Backend struct {
	opt    Options
	checks *prometheus.CounterVec // result
}

// New returns a backend. It panics if the registerer has other metrics of the same names.
func New(opt Options) *Backend {
	r := &Backend{opt: opt}
	r.checks = metric.With(opt.Registerer).Counters("respawnd_webservices_version_checks_total",
		"Games that asked for a newer version, by whether there was one.", "result", "patch", "none")
	r.Reload(opt.Config)
	return r
}

// Reload applies a configuration.
func (r *Backend) Reload(c NewsConfig) { r.opt.News.SetConfigured(c.Motd, c.Records()) }

// Pages returns the paths of the backend.
func (r *Backend) Pages() []soap.Page {
	hosts := []string{"motd.{d}"}
	return []soap.Page{
		{Name: "motd.vercheck", Hosts: hosts, Path: "/motd/vercheck.asp", Serve: r.vercheck},
		{Name: "motd.motd", Hosts: hosts, Path: "/motd/motd.asp", Serve: r.motd},
		{Name: "motd.mirrors", Hosts: []string{"www.fileplanet.com"}, Path: "/dlfileraw.asp", Serve: r.mirrors},
	}
}

// game returns the game of a request, empty if it is unknown.
func (r *Backend) game(req *http.Request) string {
	name, ok := query.Get(req.URL.RawQuery, "gamename")
	if !ok || r.opt.Game == nil {
		return ""
	}
	return r.opt.Game(storage.Fold(name))
}

// asks returns the version of the game that sends a request, and counts it.
func (r *Backend) asks(req *http.Request, q *soap.Request) (id storage.PatchID, ok bool) {
	product, hasProduct := query.Number(req.URL.RawQuery, "productid")
	version, hasVersion := query.Get(req.URL.RawQuery, "versionuniqueid")
	if !hasProduct || !hasVersion {
		return id, false
	}
	game := r.game(req)
	r.opt.News.See(news.Version{Game: game, Product: product, Version: version})
	if r.opt.Asked != nil && game != "" {
		r.opt.Asked(q.From.Addr(), game, version)
	}
	return storage.PatchID{Product: product, Version: version}, true
}

// vercheck answers a game that asks for a newer version.
func (r *Backend) vercheck(w http.ResponseWriter, req *http.Request, q *soap.Request) {
	body, result := noPatch, "none"
	if id, ok := r.asks(req, q); ok {
		if p, found := r.opt.News.Patch(id); found {
			body, result = announcement(&p), "patch"
		}
	}
	r.checks.WithLabelValues(result).Inc()
	reply(w, req, body)
}

// announcement returns the answer to a game with a patch. Its values have no backslash.
func announcement(p *storage.Patch) string {
	lockout := "0"
	if p.Lockout {
		lockout = "1"
	}
	return `\newver\1\lockout\` + lockout + `\newvername\` + p.Name + `\fpfileid\` + strconv.Itoa(p.File) + `\dlurl\` + p.URL + `\`
}

// motd answers a game that asks for the message of the day.
func (r *Backend) motd(w http.ResponseWriter, req *http.Request, q *soap.Request) {
	_, _ = r.asks(req, q) // counted
	reply(w, req, strings.ReplaceAll(r.opt.News.Motd(r.game(req)), "\n", "\r\n"))
}

// mirrors answers a game that asks where it can download a file.
func (r *Backend) mirrors(w http.ResponseWriter, req *http.Request, _ *soap.Request) {
	file, _ := query.Number(req.URL.RawQuery, "file")
	body := ""
	if p, ok := r.opt.News.Mirror(file); ok {
		body = p.Name + "\r\nunknown size\r\nDownload\t" + p.URL + "\r\n"
	}
	reply(w, req, body)
}

// reply sends a text, which browsers must not take for a page.
func reply(w http.ResponseWriter, req *http.Request, body string) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write([]byte(body)) // if it fails, the client is gone
}

// NewsConfig is the part of section webservices of the configuration about news. The
// comment of each field explains its key.
type NewsConfig struct {
	// Message of the day for games that have none of `respawnd motd set`, at most 2047
	// bytes without a backslash. Most games do not show it.
	Motd string `key:"motd" as:"text" live:"true"`
	// Patches that are announced to games at their start, beside those of `respawnd patch
	// add`: a list, at most 256 entries; in the environment, the same as one line of
	// YAML. An entry has product and version, as the outdated game sends them
	// (`respawnd patch list` shows the values that games send), name of the newer version, file
	// (a number for a mirror list), url and lockout, true or false (the game must
	// not be played online without it):
	//   - {product: 10001, version: "1.0", name: "1.1", url: "http://a.example/b"}
	Patches []Patch `key:"patches" live:"true"`
}

// Patch is an entry of NewsConfig.Patches.
type Patch struct {
	Product int    `yaml:"product"`
	Version string `yaml:"version"`
	Name    string `yaml:"name"`
	File    int    `yaml:"file"`
	URL     string `yaml:"url"`
	Lockout bool   `yaml:"lockout"`
}

// record returns the entry as a record of the store.
func (p *Patch) record() storage.Patch {
	return storage.Patch{
		PatchID: storage.PatchID{Product: p.Product, Version: p.Version}, Name: p.Name, File: p.File, URL: p.URL, Lockout: p.Lockout,
	}
}

// CheckEntry implements configs.Entry.
func (p *Patch) CheckEntry() error {
	_, err := p.record().Canonical()
	return err
}

// CheckNews returns the mistake in the texts of the configuration.
func (c *NewsConfig) CheckNews() error {
	if err := storage.CheckMotdText(c.Motd); err != nil {
		return fmt.Errorf("webservices.motd: %w", err)
	}
	return nil
}

// Records returns the patches as records of the store.
func (c *NewsConfig) Records() []storage.Patch {
	all := make([]storage.Patch, 0, len(c.Patches))
	for i := range c.Patches {
		all = append(all, c.Patches[i].record())
	}
	return all
}
