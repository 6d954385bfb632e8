package operator

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// ServerQuery selects servers of the list.
type ServerQuery struct {
	Game string `query:"game" flag:"game" doc:"only servers of this game"`
}

// ListServers returns the live list, and the servers that proved themselves but are hidden.
var ListServers = New(Operation{
	Name: "server list", Route: "GET /servers", What: "Show the listed and the hidden servers",
}, func(_ context.Context, l *Local, in ServerQuery) ([]Listed, error) {
	if l.Registry == nil {
		return nil, ErrNotRunning
	}
	out := []Listed{}
	for _, h := range l.Registry.All() {
		if in.Game == "" || h.Game == in.Game {
			out = append(out, summary(h))
		}
	}
	unlisted := concealed(l)
	if l.Unlisted != nil {
		unlisted = append(unlisted, l.Unlisted()...)
	}
	for _, h := range unlisted {
		if in.Game == "" || h.Game == in.Game {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(strings.Compare(a.Game, b.Game), a.Address.Compare(b.Address))
	})
	return out, nil
})

func summary(h master.Record) Listed {
	rule := func(name string) string { v, _ := h.Rules.Get(name); return clean.UTF8(v) }
	return Listed{
		Game: h.Game, Origin: h.Origin.String(), Via: h.Told, Vouched: h.Vouched, Address: h.Public, Source: h.Key.Source,
		Name: rule("hostname"), Players: rule("numplayers"), MaxPlayers: rule("maxplayers"),
		Reachable: h.Direct(), Reached: h.Findings.Reached.String(), Joinable: h.Joinable().String(), NATNeg: h.NATNeg, Restored: h.Restored,
		First: h.First.UTC(), Last: h.LastSeen.UTC(), Node: h.Node,
	}
}

// recentVerdicts is the number of addresses that Verdicts returns if none is
// given.
const recentVerdicts = 200

// ListVerdicts returns the last decisions of the services about an address, or about the most
// recent addresses.
var ListVerdicts = New(Operation{
	Name: "verdict list", Route: "GET /verdicts", What: "Show the last decisions about addresses",
}, func(_ context.Context, l *Local, in Address) ([]Verdict, error) {
	if l.ServerLog == nil {
		return nil, ErrNotRunning
	}
	var entries []verdicts.Entry
	if in.Addr.IsValid() {
		entries = append(l.ServerLog.Of(in.Addr.Unmap()), l.PlayerLog.Of(in.Addr.Unmap())...)
		slices.SortStableFunc(entries, func(a, b verdicts.Entry) int { return a.Last.Compare(b.Last) })
	} else {
		entries = append(l.ServerLog.Recent(recentVerdicts), l.PlayerLog.Recent(recentVerdicts)...)
		slices.SortStableFunc(entries, func(a, b verdicts.Entry) int { return b.Last.Compare(a.Last) })
		entries = entries[:min(len(entries), recentVerdicts)]
	}
	out := []Verdict{}
	for _, e := range entries {
		x := e.Explain()
		out = append(out, Verdict{
			Service: e.Service, Address: e.Addr, Game: clean.UTF8(e.Game), Verdict: e.Verdict.String(),
			What: x.What, Cause: x.Cause, Advice: x.Advice,
			First: e.First.UTC(), Last: e.Last.UTC(), Times: e.Times,
		})
	}
	return out, nil
})

// Listed is one listed server, in short.
type Listed struct {
	Game       string         `json:"game"`
	Origin     string         `json:"origin"`
	Via        string         `json:"via,omitempty"`     // name of the master that it is known from
	Vouched    bool           `json:"vouched,omitempty"` // listed on its word, without a query of our own
	Address    netip.AddrPort `json:"address"`
	Source     netip.AddrPort `json:"source"`
	Name       string         `json:"name"`
	Players    string         `json:"players"`
	MaxPlayers string         `json:"max_players"`
	Reachable  bool           `json:"reachable"` // players are to join it directly
	Reached    string         `json:"reached"`   // direct, perhaps, negotiated, no or unknown
	Joinable   string         `json:"joinable"`  // direct, negotiated, relayed, no or unknown
	NATNeg     bool           `json:"nat_negotiation"`
	Restored   bool           `json:"restored"`
	Hidden     string         `json:"hidden,omitempty"` // why only the operator sees it; empty: it is in the list
	First      time.Time      `json:"first_seen"`
	Last       time.Time      `json:"last_seen"`
	Node       string         `json:"node,omitempty"` // of a cluster that it reports to; empty: this one
}

// Verdict is a decision of a service about an address.
type Verdict struct {
	Service string         `json:"service"`
	Address netip.AddrPort `json:"address"` // without a port (0) if it is a player's
	Game    string         `json:"game"`
	Verdict string         `json:"verdict"`
	What    string         `json:"what"`             // kind of message from the address
	Cause   string         `json:"cause"`            // the verdict in words
	Advice  string         `json:"advice,omitempty"` // remedy
	First   time.Time      `json:"first"`            // when the address got the verdict
	Last    time.Time      `json:"last"`             // when it got it again
	Times   int            `json:"times"`            // how often in between
}

// Where returns the address, with its port if it has one.
func (v Verdict) Where() string {
	if v.Address.Port() == 0 {
		return v.Address.Addr().String()
	}
	return v.Address.String()
}

// concealed returns the servers that an operator hid and that would be listed.
func concealed(l *Local) (list []Listed) {
	for _, h := range l.Registry.Hidden() {
		s := summary(h)
		s.Hidden = verdicts.Concealed.String()
		list = append(list, s)
	}
	return list
}
