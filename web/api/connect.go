package api

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/web/front"
)

// Bounds of a Connection.
const (
	maxServersHere  = 20
	maxNegotiations = 5
)

// Connection holds the known facts about how others reach a visitor's address, and no other
// address.
type Connection struct {
	Address string       `json:"address"`
	IPv4    bool         `json:"ipv4"`    // games know no other
	Private bool         `json:"private"` // it is of a network of this machine's own, and says nothing about the internet
	Servers []ServerHere `json:"servers"`
	More    int          `json:"more_servers,omitzero"` // that are left out

	*Meetings // nil: players behind routers are not brought together here
}

// Meetings holds the known facts about how the visitor meets others behind routers.
type Meetings struct {
	Router *RouterSeen   `json:"router,omitzero"` // missing: it did not negotiate here within an hour
	Tried  []Negotiation `json:"negotiations"`    // the newest first
	Relay  bool          `json:"relay"`           // players whose routers prevent a direct connection are relayed here
	// Pairs are the ways of all pairs of routers.
	Pairs map[string]map[string]string `json:"pairs"`
}

// ServerHere is a listed server on the visitor's address.
type ServerHere struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Game     string    `json:"game"`
	Address  string    `json:"address"`
	Joinable string    `json:"joinable"`
	Reached  string    `json:"reached"`
	Tested   time.Time `json:"tested,omitzero"` // when that was found out last
	Verdict  string    `json:"verdict,omitempty"`
	Cause    string    `json:"cause,omitempty"`
	Advice   string    `json:"advice,omitempty"`

	Row *Row `json:"-"`
}

// RouterSeen is the router of the visitor, as his negotiations showed it.
type RouterSeen struct {
	Kind string    `json:"kind"` // a meeting.Kind
	Seen time.Time `json:"seen"`

	Of meeting.Kind `json:"-"`
}

// Negotiation is the outcome of a NAT negotiation of the visitor.
type Negotiation struct {
	Game    string    `json:"game"`
	Verdict string    `json:"verdict"`
	Cause   string    `json:"cause"`
	Advice  string    `json:"advice,omitempty"`
	Time    time.Time `json:"time"`
	Times   int       `json:"times"`
	Good    bool      `json:"good"`
}

// Connection returns the known facts about the visitor of a request.
func (s *API) Connection(r *http.Request) *Connection {
	from, now := s.Visitor(r), time.Now()
	c := &Connection{
		Address: from.String(), IPv4: from.Is4(), Private: front.IsNear(from), Servers: []ServerHere{},
	}
	asker := s.Asker(r)
	var noted []verdicts.Entry
	if s.opt.Verdicts != nil {
		noted = s.opt.Verdicts.Of(from)
	}
	for _, row := range s.Snapshot().Rows {
		switch {
		case row.Public.Addr() != from && row.Key.Source.Addr() != from:
		case len(c.Servers) == maxServersHere:
			c.More++
		default:
			h := ServerHere{
				ID: row.ID(), Name: row.Name, Game: row.Game, Address: asker.Given(row.Public).String(),
				Joinable: row.Joinable().String(), Reached: row.Findings.Reached.String(), Row: row,
			}
			h.judge(noted)
			c.Servers = append(c.Servers, h)
		}
	}
	if s.opt.Nouns.Has(noun.Meetings) {
		c.Meetings = s.meetings(from, now)
	}
	return c
}

// meetings returns how a visitor meets others behind routers.
func (s *API) meetings(from netip.Addr, now time.Time) *Meetings {
	m := &Meetings{Tried: []Negotiation{}, Relay: s.opt.Nouns.Has(noun.Relays), Pairs: pairs()}
	if seen, ok := s.opt.Meetings.Of(from, now); ok {
		m.Router = &RouterSeen{seen.Kind.String(), seen.Time.UTC().Truncate(time.Second), seen.Kind}
	}
	if s.opt.Players != nil {
		m.Tried = negotiations(s.opt.Players.Of(from))
	}
	return m
}

// judge adds the last verdict on whether the server is reached.
func (h *ServerHere) judge(noted []verdicts.Entry) {
	for _, e := range noted {
		if !e.Verdict.OnReach() || e.Addr != h.Row.Key.Source || e.Last.Before(h.Tested) {
			continue
		}
		x := e.Explain()
		h.Tested, h.Verdict, h.Cause, h.Advice = e.Last.UTC().Truncate(time.Second), e.Verdict.String(), x.Cause, x.Advice
	}
}

// negotiations returns those among the verdicts of an address, the newest first.
func negotiations(noted []verdicts.Entry) []Negotiation {
	list := []Negotiation{}
	for _, e := range noted {
		if e.Service != "natneg" {
			continue
		}
		x := e.Explain()
		list = append(list, Negotiation{
			clean.Text(e.Game), e.Verdict.String(), x.Cause, x.Advice, e.Last.UTC().Truncate(time.Second), e.Times, x.Good,
		})
	}
	slices.SortStableFunc(list, func(a, b Negotiation) int { return b.Time.Compare(a.Time) })
	return list[:min(len(list), maxNegotiations)]
}

// pairs returns the ways of all pairs of routers.
func pairs() map[string]map[string]string {
	all := make(map[string]map[string]string)
	for _, a := range meeting.Routers() {
		row := make(map[string]string)
		for _, b := range meeting.Routers() {
			row[b.String()] = meeting.Pair(a, b).String()
		}
		all[a.String()] = row
	}
	return all
}

// serveConnection answers /api/v1/connection. Only the visitor himself may read it: the
// scripts of other sites in his browser may not.
func (s *API) serveConnection(w http.ResponseWriter, r *http.Request) {
	w.Header().Del("Access-Control-Allow-Origin")
	w.Header().Set("Cache-Control", "no-store")
	s.with(func(w http.ResponseWriter, r *http.Request, _ Params) error {
		body, err := json.Marshal(s.Connection(r))
		if err != nil {
			panic(err) // it always has a JSON form
		}
		s.Send(w, r, front.JSON, front.NewAnswer(append(body, '\n')))
		return nil
	})(w, r)
}
