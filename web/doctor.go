package web

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/web/api"
)

// Bounds of the tests that visitors ask for.
const (
	checkEvery  = 20 * time.Second // of one address
	checkBurst  = 2
	checkRate   = 10 // of all, per second
	checkAtOnce = 50
	// checkTime is the time after which a page shows the result: a server is queried
	// three times.
	checkTime = "8"
	checkPath = "/connect/check"

	dropCheck = "check_rate" // more tests from one address, or of all, than allowed
)

// doctor bounds the tests that visitors ask for.
type doctor struct {
	origins *http.CrossOriginProtection
	perAddr *netserve.Limiter
	all     *rate.Limiter
}

func newDoctor(publicURL string) *doctor {
	d := &doctor{
		origins: http.NewCrossOriginProtection(), all: rate.NewLimiter(checkRate, checkAtOnce),
		perAddr: netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / checkEvery.Seconds(), Burst: checkBurst}),
	}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		_ = d.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host) // our own, even if a proxy changes the Host header
	}
	return d
}

// allow reports whether a visitor may ask for a test.
func (d *doctor) allow(from netip.Addr, now time.Time) bool {
	return d.perAddr.Allow(from, now) && d.all.AllowN(now, 1)
}

// youView is how others reach the visitor.
type youView struct {
	*api.Connection
	Proxied bool // the request names another address, which is not believed
	Listed  []listedHere
	Router  meeting.Words // of the kind that was seen
	Seen    bool          // a game of the visitor negotiated
	Known   bool          // and its router was recognised
	Ago     string        // when
	Several string        // the kind that was seen, if several routers are of it
	Tried   []triedHere
	Pairs   []pairRow
	Routers []string // heads of the table
	Test    string   // argument of the full test
	Ask     bool     // servers can be tested
	Asked   bool     // they are being tested
	Later   bool     // the visitor asked too often
}

// listedHere is a server at the visitor's address.
type listedHere struct {
	rowView
	Ago, Verdict, Cause, Advice string
}

// triedHere is a negotiation of the visitor.
type triedHere struct {
	api.Negotiation
	Ago string
}

// pairRow is a row of the table of pairs.
type pairRow struct {
	Name string
	You  bool // it may be the visitor's router
	Ways []string
}

// Values of the parameter checked.
const (
	checkedNow   = "now"
	checkedLater = "later"
)

// you returns how others reach the visitor of a request.
func (s *Server) you(l *lang.Language, r *http.Request) *youView {
	c := s.api.Connection(r)
	list, now := s.api.Asker(r), time.Now()
	v := &youView{Connection: c, Test: s.checkAddress(r), Ask: len(c.Servers) > 0}
	v.Proxied = r.Header.Get("X-Forwarded-For") != "" && c.Private
	for i := range c.Servers {
		h := &c.Servers[i]
		here := listedHere{rowView: s.rowView(l, h.Row, now, list), Verdict: h.Verdict, Cause: l.T(h.Cause), Advice: l.T(h.Advice)}
		if !h.Tested.IsZero() {
			here.Ago = agoText(l, now.Sub(h.Tested))
		}
		v.Listed = append(v.Listed, here)
	}
	if c.Meetings != nil {
		v.met(l, now)
	}
	checked := r.URL.Query().Get("checked")
	v.Asked, v.Later = checked == checkedNow && v.Ask, checked == checkedLater
	return v
}

// met adds how the visitor meets others behind routers.
func (v *youView) met(l *lang.Language, now time.Time) {
	var kind meeting.Kind
	if v.Connection.Router != nil {
		kind = v.Connection.Router.Of
		v.Seen, v.Known, v.Ago = true, kind != meeting.Unknown, agoText(l, now.Sub(v.Connection.Router.Seen))
		v.Several = map[meeting.Kind]string{
			meeting.Cone: l.T("a router with one port for all partners"), meeting.Strict: l.T("a router that lets in only answers"),
		}[kind]
		v.Router = routerOf(kind).Words().In(l)
	}
	for _, n := range v.Connection.Tried {
		n.Game, n.Cause, n.Advice = clean.Line(n.Game, maxGameText), l.T(n.Cause), l.T(n.Advice)
		v.Tried = append(v.Tried, triedHere{n, agoText(l, now.Sub(n.Time))})
	}
	v.Pairs, v.Routers = pairRows(l, kind, v.Relay)
}

// routerOf returns the router that players of a kind have most often.
func routerOf(k meeting.Kind) meeting.Router {
	return [meeting.Kinds]meeting.Router{
		meeting.Open: meeting.NoRouter, meeting.Cone: meeting.PortRestricted, meeting.Symmetric: meeting.EachItsOwn, meeting.Strict: meeting.PortRestricted,
	}[k]
}

// pairRows returns the table of pairs; kind is that of the visitor.
func pairRows(l *lang.Language, kind meeting.Kind, relay bool) (rows []pairRow, heads []string) {
	words := map[meeting.Way]string{meeting.Direct: l.T("directly"), meeting.Negotiated: l.T("negotiated"), meeting.Relayed: l.T("relay")}
	if !relay {
		words[meeting.Relayed] = l.T("no")
	}
	for _, a := range meeting.Routers() {
		heads = append(heads, shortRouter(l, a))
		row := pairRow{Name: shortRouter(l, a), You: a.Is(kind)}
		for _, b := range meeting.Routers() {
			row.Ways = append(row.Ways, words[meeting.Pair(a, b)])
		}
		rows = append(rows, row)
	}
	return rows, heads
}

// shortRouter names a router in a table.
func shortRouter(l *lang.Language, r meeting.Router) string {
	return [meeting.RouterKinds]string{
		l.T("not known"), l.T("none"), l.T("firewall"), "full cone", "restricted", "port restricted", l.T("symmetric"),
	}[r]
}

// checkAddress is the argument for the full test on the visitor's computer.
func (s *Server) checkAddress(r *http.Request) string {
	if a := s.gameAddress(r); a.IsValid() {
		return a.String()
	}
	return "ADDRESS"
}

// serveCheck answers the form that asks for a test of the visitor's own servers: only
// those are queried, which proved their addresses.
func (s *Server) serveCheck(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		http.Redirect(w, r, s.site.Base()+"/connect", http.StatusSeeOther)
		return
	case s.doctor.origins.Check(r) != nil:
		s.Fail(w, r, http.StatusForbidden, "this form was sent by another site")
		return
	}
	from := s.Visitor(r)
	now := time.Now()
	c := s.api.Connection(r)
	if len(c.Servers) > 0 && !s.doctor.allow(from, now) {
		s.Drop(dropCheck)
		http.Redirect(w, r, s.site.Base()+"/connect?checked="+checkedLater+"#you", http.StatusSeeOther)
		return
	}
	s.recheck(r.Context(), c.Servers)
	http.Redirect(w, r, s.site.Base()+"/connect?checked="+checkedNow+"#you", http.StatusSeeOther)
}

// recheck has servers tested. Those of origins that test nothing by themselves are
// queried, which shows at least whether they answer.
func (s *Server) recheck(ctx context.Context, servers []api.ServerHere) {
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	var asked sync.WaitGroup
	for i := range servers {
		server := servers[i].Row
		if s.opt.Recheck != nil && s.opt.Recheck(server.Server) || s.opt.Prober == nil {
			continue
		}
		asked.Go(func() {
			if _, err := s.opt.Prober.Status(ctx, server.Public); err != nil {
				s.Log().Debug().Err(err).Stringer("server", server.Public).Msg("not answered")
			}
		})
	}
	asked.Wait()
}
