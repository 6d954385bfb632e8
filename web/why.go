package web

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/page"
)

// maxServersHere is the maximum number of servers on the visitor's address that
// are shown.
const maxServersHere = 20

// whyPage is the data of the diagnosis template.
type whyPage struct {
	page.Frame
	Address  string
	IPv6     bool // games do not speak it
	Proxied  bool // the request names another address, which is not believed
	Banned   []string
	Listed   []rowView
	More     int // servers that are not shown
	Stories  []story
	Asked    []nameView // games that the visitor can report on: services saw them at this address
	Services []Service
	SignIn   bool // players sign in here
	GameSpy  bool // games look up names that lead here
}

// story holds the verdicts of a service on one port, the newest first.
type story struct {
	Service, Address string
	Now              happening
	Before           []happening
	Open             bool     // there is still something to do about one of Before
	Known            []string // of playing its game here
	later            []verdicts.Verdict
}

// happening is one verdict.
type happening struct {
	What, Game, Verdict, Cause, Advice string
	At, Ago, Until, UntilAgo           string // Until: empty if it happened once
	Times                              int
	Good                               bool
}

// serveWhy answers /why: the verdicts on the visitor's own address, and on no
// other. It has no parameter.
func (s *Server) serveWhy(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	from := s.Visitor(r)
	l := s.site.Language(w, r)
	v := whyPage{Frame: s.site.Frame(l, l.T("Why is my server not listed?"), page.Why), Address: from.String(), IPv6: from.Is6()}
	v.Proxied = r.Header.Get("X-Forwarded-For") != "" && front.IsNear(from)
	if s.opt.Banned != nil {
		v.Banned = s.opt.Banned(l, from)
	}
	list := s.api.Snapshot()
	here := list.At(from)
	v.More = max(len(here)-maxServersHere, 0)
	v.Listed = s.rowViews(l, here[:min(len(here), maxServersHere)], list.Begun, s.api.Asker(r))
	if s.opt.Verdicts != nil {
		v.Stories = stories(l, s.opt.Verdicts.Of(from), time.Now())
	}
	for i := range v.Stories {
		if g, known := s.api.Game(v.Stories[i].Now.Game); known {
			v.Stories[i].Known = s.api.Says(l, g)
		}
	}
	v.Asked, v.Services = s.askedGames(from, time.Now()), s.services()
	v.SignIn, v.GameSpy = s.opt.Nouns.Has(noun.Accounts), s.opt.Nouns.Has(noun.Names)
	s.show(w, r, "why", v)
}

// askedGames returns the games of which services saw an address within played.SeenFor.
func (s *Server) askedGames(from netip.Addr, now time.Time) (out []nameView) {
	if s.opt.Reporter == nil {
		return nil
	}
	for _, e := range s.seen(from) {
		g, known := s.api.Game(e.Game)
		if known && now.Sub(e.Last) <= played.SeenFor && !slices.ContainsFunc(out, func(v nameView) bool { return v.Name == g.Name }) {
			out = append(out, nameView{g.Name, clean.Line(s.api.Title(g.Name), maxGameText), s.gameURL(g.Name) + "#report"})
		}
	}
	return out
}

// stories sorts verdicts by service and port, the port with the newest one first.
func stories(l *lang.Language, entries []verdicts.Entry, now time.Time) []story {
	entries = slices.Clone(entries)
	slices.Reverse(entries) // the last of those of the same time comes first
	slices.SortStableFunc(entries, func(a, b verdicts.Entry) int { return cmp.Or(b.Last.Compare(a.Last), b.First.Compare(a.First)) })
	var out []story
	for _, e := range entries {
		address := e.Addr.String()
		i := slices.IndexFunc(out, func(st story) bool { return st.Service == e.Service && st.Address == address })
		if i < 0 {
			out = append(out, story{Service: e.Service, Address: address, Now: happened(l, e, now), later: []verdicts.Verdict{e.Verdict}})
			continue
		}
		out[i].precede(l, e, now)
	}
	return out
}

// precede puts a verdict before those of the story, with its advice if that is
// still of use.
func (st *story) precede(l *lang.Language, e verdicts.Entry, now time.Time) {
	old := happened(l, e, now)
	if slices.ContainsFunc(st.later, func(v verdicts.Verdict) bool { return v.Outdates(e.Verdict) }) {
		old.Advice = ""
	}
	st.Open = st.Open || old.Advice != ""
	st.Before, st.later = append(st.Before, old), append(st.later, e.Verdict)
}

// happened puts a verdict into words.
func happened(l *lang.Language, e verdicts.Entry, now time.Time) happening {
	x := e.ExplainIn(l)
	h := happening{
		What: x.What, Game: clean.Line(e.Game, maxGameText), Verdict: l.T(e.Verdict.String()), Cause: x.Cause, Advice: x.Advice,
		At: clockText(e.First, now), Ago: agoText(l, now.Sub(e.First)), Times: e.Times, Good: x.Good,
	}
	if e.Times > 1 {
		h.Until, h.UntilAgo = clockText(e.Last, now), agoText(l, now.Sub(e.Last))
	}
	return h
}

// clockText returns a time of day in UTC, with the date unless it is today's.
func clockText(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
