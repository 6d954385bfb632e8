package web

import (
	"context"
	"embed"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/account"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/docs"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

//go:embed templates
var files embed.FS

// Options configure the service. Config, and the required fields of
// api.Options, are required.
type Options struct {
	Config *Config // its live keys are replaced by Reload

	api.Options // History may be nil for one of our own, Started zero for now

	// Prober asks the server of a page about itself; nil: no server is asked.
	Prober Prober
	// Recheck has servers tested for whether they let in strangers; nil: none are.
	Recheck func(*master.Server) bool
	// Banned describes the ban of an address; nil: none is banned.
	Banned func(*lang.Language, netip.Addr) []string
	// Trusted returns whether the bounds per address do not apply to a visitor; nil:
	// they apply to all.
	Trusted func(netip.Addr) bool
	// Accounts are the options of the account pages; PublicURL is set here.
	Accounts account.Options

	// Reporter returns what stands for an address in reports of a day; nil: there are no reports.
	Reporter func(day string, from netip.Addr) string

	// Lookup finds the addresses of the host of the public URL; nil: they are not
	// looked up.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Services returns the running services; nil: not shown.
	Services func() []Service
}

// Server answers requests for pages and JSON. All methods may be called
// concurrently.
type Server struct {
	*front.Front
	opt      Options
	site     *page.Site
	api      *api.API
	accounts *account.Pages
	own      *ownAddress
	charts   *charts
	gallery  gallery
	badges   badges
	doctor   *doctor
	reports  *netserve.Limiter // of visitors
	handler  http.Handler
}

// templates are those of the pages. All services of a process share them.
var templates = page.NewTemplates(files, "home", "list", "players", "connect", "server", "games", "game", "player", "why", "charts", "chart")

// New returns a service that is not serving yet. It panics if the registerer has
// other metrics of the same names.
func New(opt Options) *Server {
	if opt.Started.IsZero() {
		opt.Started = time.Now()
	}
	if opt.History == nil {
		opt.History = history.NewBook()
	}
	public := opt.Config.PublicURL
	s := &Server{opt: opt, site: page.New(public, opt.Version), own: newOwnAddress(public, opt.Lookup), badges: newBadges(), doctor: newDoctor(public), reports: newReports()}
	s.site.SetMirror(opt.Registry.Made)
	s.Front = front.New(front.Options{
		Trusted: opt.Trusted, TakesForms: func(path string) bool { return path == checkPath || isReportPath(path) || s.accounts.TakesForms(path) }, ErrorPage: s.site.Error, Choose: s.site.Choose,
		Log: opt.Log, Metrics: opt.Metrics, Registerer: opt.Registerer,
	})
	s.charts = newCharts(opt.History)
	opt.Picture = s.pictureURL
	s.gallery.now.Store(new(pictures))
	s.api = api.New(s.Front, opt.Options)
	opt.Accounts.PublicURL = public
	s.accounts = account.New(s.Front, s.site, opt.Accounts)
	s.Gauge("respawnd_web_charts", "Drawn charts that are kept until the next sample, at most 512.", s.charts.len)
	s.Gauge("respawnd_web_pictures", "Pictures of games that are served, at most 1,024.", func() int { return len(s.gallery.now.Load().of) })
	s.Gauge("respawnd_web_pictures_refused", "Files in web.pictures that are not served.", func() int { return len(s.gallery.now.Load().refused) })
	s.Reload(opt.Config)
	s.handler = s.Front.Handler(s.routes())
	return s
}

// Reload applies the live keys of a configuration. Every address starts with a
// full burst.
func (s *Server) Reload(c *Config) {
	s.SetLimits(c.Rate, c.Burst, c.TrustedProxies)
	s.api.SetStreams(c.MaxStreams, c.MaxStreamsPerAddr)
	s.site.SetCommunity(c.community())
	s.accounts.SetLimits(c.Accounts, c.Forms, c.Registrations)
	s.loadPictures(c.Pictures)
}

// DropReasons returns the reasons under which the service counts refusals, for
// netserve.NewMetrics.
func DropReasons() []string {
	return slices.Concat(front.DropReasons(), api.DropReasons(), account.DropReasons(), []string{dropCheck, dropReport})
}

// routes returns every path that is served.
func (s *Server) routes() []front.Route {
	return slices.Concat([]front.Route{
		{Pattern: "/{$}", Serve: s.serveHome},
		{Pattern: "/servers", Serve: s.serveList},
		{Pattern: "/servers/{id}", Serve: s.serveServer},
		{Pattern: "/servers/{id}/qr.svg", Serve: s.serveServerQR},
		{Pattern: "/servers/{id}/badge.svg", Serve: s.serveBadge},
		{Pattern: "/players", Serve: s.servePlayers},
		{Pattern: "/connect", Serve: s.serveConnect},
		{Pattern: checkPath, Serve: s.serveCheck},
		{Pattern: "/connect/qr.svg", Serve: s.serveSiteQR},
		{Pattern: "/games", Serve: s.serveGames},
		{Pattern: "/games/{name}", Serve: s.serveGame},
		{Pattern: "/games/{name}/report", Serve: s.serveReport},
		{Pattern: "/games/hosts.txt", Serve: s.serveKit("txt")},
		{Pattern: "/games/hosts.sh", Serve: s.serveKit("sh")},
		{Pattern: "/games/hosts.bat", Serve: s.serveKit("bat")},
		{Pattern: "/games/{name}/hosts.txt", Serve: s.serveKit("txt")},
		{Pattern: "/games/{name}/hosts.sh", Serve: s.serveKit("sh")},
		{Pattern: "/games/{name}/hosts.bat", Serve: s.serveKit("bat")},
		{Pattern: "/games/{name}/kit.zip", Serve: s.serveKit("zip")},
		{Pattern: "/games/{name}/picture", Serve: s.servePicture},
		{Pattern: "/players/{id}", Serve: s.servePlayer},
		{Pattern: "/why", Serve: s.serveWhy},
		{Pattern: "/json/{game}/motd", Serve: s.serveMotd},
		{Pattern: "/charts", Serve: s.serveCharts},
	}, s.accounts.Routes(), s.site.Routes(s.Front), s.api.Routes(), docs.New(s.Front, s.site, s.opt.Docs, s.opt.Nouns).Routes())
}

// Serve answers requests on ln until ctx ends; it is called once. Then it waits
// up to two seconds for pending responses, closes the rest and returns nil. An
// error that ends it before is returned. It always closes ln. Events come, and
// the history is written, only while Serve runs.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.api.Run(ctx) })
	running.Go(func() { s.accounts.Run(ctx) })
	err := s.Front.Serve(ctx, ln, s.handler, s.opt.Config.MaxConns, s.opt.Config.MaxPerAddr, s.opt.Config.RequestTime)
	cancel()
	running.Wait()
	return err
}

// framed is the question for a page: its frame may change while the list stays.
type framed struct {
	look     *page.Look
	language *lang.Language
	question any
}

// renew forgets the answers that were written before the history or the pictures changed.
func (s *Server) renew(list *api.Snapshot) {
	list.Answers.Renew(s.opt.History.Version() + s.gallery.version.Load())
}

// replyPage sends a page that visitors with the same question and language share until the list or
// the history of players changes.
func (s *Server) replyPage(w http.ResponseWriter, r *http.Request, list *api.Snapshot, question any, write func(*lang.Language) []byte) {
	l := s.site.Language(w, r)
	s.renew(list)
	s.ReplyTagged(w, r, front.HTML, &list.Answers, framed{s.site.Look(), l, question}, func() []byte { return write(l) })
}

// show sends a page made for this visitor only.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name string, data page.View) {
	templates.Show(s.Front, w, r, name, data)
}

// Longest texts in a page, in characters.
const (
	maxNameText  = 80
	maxAreaText  = 40
	maxGameText  = 60
	maxFieldText = 60  // names of rules and columns
	maxValueText = 300 // values of rules
)

const day = 24 * time.Hour

// ageText returns a duration in its largest whole unit.
func ageText(l *lang.Language, d time.Duration) string {
	switch {
	case d < time.Minute:
		return l.T("just now")
	case d < time.Hour:
		return l.T("%1 min", int(d/time.Minute))
	case d < 2*day:
		return l.T("%1 h", int(d/time.Hour))
	}
	return l.N(int(d/day), "%1 day|%1 days")
}

// agoText returns how long ago a time was, with seconds.
func agoText(l *lang.Language, d time.Duration) string {
	switch {
	case d < time.Minute:
		return l.T("%1 s ago", max(int(d/time.Second), 0))
	case d < time.Hour:
		return l.T("%1 min ago", int(d/time.Minute))
	case d < 2*day:
		return l.T("%1 h ago", int(d/time.Hour))
	}
	return l.N(int(d/day), "%1 day ago|%1 days ago")
}
