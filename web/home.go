package web

import (
	"cmp"
	"html/template"
	"net/http"
	"strings"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/api"
	"github.com/respawnd/respawnd/web/page"
)

// homeRows is the number of servers on the first page.
const homeRows = 25

// Service is a running service, as the first page shows it.
type Service struct {
	Name      string // as the configuration spells it
	What      string // short description
	Port      string // "UDP 27900"
	Connect   string // see service.Descriptor
	Zandronum bool   // the master for Zandronum, which has further lines
}

// services returns the running services; nil if unknown.
func (s *Server) services() []Service {
	if s.opt.Services == nil {
		return nil
	}
	return s.opt.Services()
}

// running describes which families of games have a service here.
type running struct {
	GameSpy   bool     // a service whose name games look up
	SignIn    bool     // accounts and buddies among them
	DNS       bool     // it answers those names itself
	Zandronum string   // port of the master for Zandronum, empty if it is off
	Masters   []byHand // that are set by hand
}

// byHand is a master that is set by hand.
type byHand struct {
	How       template.HTML // to set it
	Zandronum bool
}

// running sorts the running services by family, for games that reach them at an address; empty: it is not known.
func (s *Server) running(l *lang.Language, address string) running {
	r := running{GameSpy: s.opt.Nouns.Has(noun.Names), SignIn: s.opt.Nouns.Has(noun.Accounts)}
	for _, svc := range s.services() {
		r.DNS = r.DNS || svc.Name == "dns"
		if svc.Zandronum {
			r.Zandronum = svc.portNumber()
		}
		if svc.Connect != "" {
			r.Masters = append(r.Masters, byHand{svc.how(l, cmp.Or(address, "ADDRESS")), svc.Zandronum})
		}
	}
	return r
}

// how returns Connect for an address.
func (s Service) how(l *lang.Language, address string) template.HTML {
	text := strings.NewReplacer("{address}", address, "{port}", s.portNumber(), "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(l.T(s.Connect))
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // its text is ours, and escaped
}

// usualMasterPort is where Zandronum's servers look for their master unless they
// are started with -masterport.
const usualMasterPort = "15300"

// MasterPort returns the port of the master for Zandronum if its servers must be
// given it, else "".
func (r running) MasterPort() string {
	if r.Zandronum == usualMasterPort {
		return ""
	}
	return r.Zandronum
}

// portNumber returns the port without the network.
func (s Service) portNumber() string { return s.Port[strings.LastIndexByte(s.Port, ' ')+1:] }

// homeView is the data of the first page's template.
type homeView struct {
	page.Frame
	Servers, Players int
	Games            []gameView
	Table            rowTable
	Running          running
	Chart            template.HTML // of all players; empty: nothing was counted yet
	Longer           []string      // titles of the charts of longer times
}

// serveHome answers /. Old links to the list, which was here, are redirected to
// its present page.
func (s *Server) serveHome(w http.ResponseWriter, r *http.Request) {
	if p := parsePageParams(r.URL.RawQuery); p != (pageParams{page: 1}) {
		http.Redirect(w, r, s.listURL(p, p.page), http.StatusSeeOther)
		return
	}
	list := s.api.Snapshot()
	q := homeQuestion{s.api.Asker(r)}
	s.replyPage(w, r, list, q, func(l *lang.Language) []byte { return s.homePage(l, list, q) })
}

// homeQuestion is the question for the first page: visitors who get the same
// addresses of servers share an answer.
type homeQuestion struct{ asker advertise.Asker }

// homePage writes the page.
func (s *Server) homePage(l *lang.Language, list *api.Snapshot, q homeQuestion) []byte {
	rows := choosePage(list, pageParams{})
	v := homeView{
		Frame:   s.site.LiveFrame(l, l.T("Game servers"), page.Home, ""),
		Servers: len(list.Rows), Players: list.Players, Games: s.gameViews(list, pageParams{}),
		Table:   s.table(l, rows[:min(len(rows), homeRows)], list.Begun, q.asker, true, "", unsorted),
		Running: s.running(l, ""),
	}
	v.Chart, v.Longer = s.homeCharts(l)
	v.Table.Caption = l.T("Servers, most players first")
	if v.Table.Rows < v.Servers {
		v.Table.Caption = l.T("Servers with most players: %1 of %2", v.Table.Rows, v.Servers)
	}
	v.Title = v.Site
	v.Preview = s.site.Preview(s.site.Base()+"/", l.T("Game servers: %1.", populationText(l, v.Servers, v.Players)))
	return templates.Render("home", v)
}
