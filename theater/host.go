package theater

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// create makes the client the host of a game. It has one at a time.
func (x *session) create(r *request) {
	s := x.server
	if x.hosts != nil {
		s.end(x.hosts)
	}
	x.abandon()
	if most := s.live.Load().GamesPerAddr; most > 0 && !s.opt.Trusted.Has(x.peer.Addr()) && s.hosted(x.peer.Addr()) >= most {
		s.opt.Verdicts.Note(name, x.peer, x.player.Game, verdicts.TooManyHere)
		s.opt.Metrics.Drop(uplink.TooMany.String())
		x.refuse(r.Service, r.id(), badValue)
		return
	}
	g := &game{host: x, key: secret(16), seats: make(map[int]*seat)}
	g.identity = cmp.Or(short(r.Get("UGID")), newIdentity())
	if !g.update(r.Text) {
		x.refuse(r.Service, r.id(), badValue)
		return
	}
	g.id = s.newID()
	at, _ := s.place(g.id)
	s.games, x.hosts = slices.Insert(s.games, at, g), g
	join := cmp.Or(g.values.Get("JOIN"), "O")
	x.reply("CGAM", r.id(), append(g.ids(), "MAX-PLAYERS", strconv.Itoa(g.max()), "EKEY", g.key, "UGID", g.identity,
		"SECRET", cmp.Or(short(r.Get("SECRET")), secret(64)), "JOIN", join, "J", join, "HXFR", "0")...)
}

// short returns a text that is not too long to be kept, else an empty one.
func short(text string) string {
	if len(text) > maxID {
		return ""
	}
	return text
}

// hosted returns the number of games of an address.
func (s *Server) hosted(a netip.Addr) (n int) {
	for _, g := range s.games {
		if g.node == "" && g.host.peer.Addr() == a {
			n++
		}
	}
	return n
}

// bracket is a series of messages whose answers wait for its end.
type bracket struct {
	open     bool
	first    int // number of the message that began it
	messages int // since then
}

// bracketed begins or ends a bracket. At its end each of its messages is answered.
func (x *session) bracketed(r *request) {
	id := number(r.id())
	if r.Get("START") == "1" {
		x.bracket = bracket{open: true, first: id}
		return
	}
	if g := x.hosts; g != nil && number(r.Get("GID")) == g.id {
		g.open = true
		x.server.publish(g, r.now)
	}
	first := id
	if b := x.bracket; b.open && b.first >= 0 && id > b.first && id-b.first <= b.messages {
		first = b.first
	}
	x.bracket = bracket{}
	if first < 0 {
		x.reply("UBRA", r.id())
		return
	}
	for ; first <= id; first++ {
		x.reply("UBRA", strconv.Itoa(first))
	}
}

// update takes values of the game.
func (x *session) update(r *request, g *game) {
	if !g.update(r.Text) {
		x.server.opt.Metrics.Drop(droppedTooMuch.Error())
	}
	x.server.publish(g, r.now)
	g.advance(r.now)
}

// updateDetails takes details of the game.
func (x *session) updateDetails(r *request, g *game) {
	if !g.details.take(r.Text, "D-") {
		x.server.opt.Metrics.Drop(droppedTooMuch.Error())
	}
}

// remove ends the game.
func (x *session) remove(r *request, g *game) {
	x.server.end(g)
	x.reply("RGAM", r.id())
}

// end ends a game. Those who wait to join get an error.
func (s *Server) end(g *game) {
	if i, ok := s.place(g.id); ok {
		s.games = slices.Delete(s.games, i, i+1)
	}
	g.host.hosts = nil
	s.unlist(g)
	s.nodes.shared.Delete(g.id)
	for _, at := range g.all() {
		who, waits := at.who, at.state <= asked
		if at.leave(); who != nil && waits && who != g.host {
			who.refuse("EGAM", at.tid, noGame)
		}
	}
}

// instance marks the records of this service.
const instance = 0x45415448

func keyOf(a netip.AddrPort) master.Key { return master.Key{Source: a, Instance: instance} }

// unlist takes a game out of the list of servers.
func (s *Server) unlist(g *game) {
	if s.sources[g.source] == g {
		delete(s.sources, g.source)
		s.opt.Registry.Remove(keyOf(g.source))
	}
	g.source = netip.AddrPort{}
}

// shows reports whether players may see a game: the list of servers must show it, unless the
// catalogue lacks it. trial is for self-tests, which see only their own.
func (s *Server) shows(g *game, trial bool) bool {
	switch {
	case !g.open || trial != master.IsTrial(g.host.peer.Addr()):
		return false
	case g.host.player.Game == "":
		return true
	case !g.source.IsValid():
		return false
	}
	r := s.opt.Registry
	if trial {
		r = r.Trials()
	}
	_, ok := r.Listed(keyOf(g.source))
	return ok
}

// publish lists a game in the list of servers and at other nodes, or renews what they have.
func (s *Server) publish(g *game, now time.Time) {
	s.list(g, now)
	s.share(g)
}

// list lists a game in the list of servers, or renews its record.
func (s *Server) list(g *game, now time.Time) {
	if !g.open || g.host.player.Game == "" {
		return
	}
	at := g.at()
	if g.source != at {
		s.unlist(g)
	}
	first, why := s.put(g, at, now)
	switch {
	case why != uplink.NotDropped:
		s.unlist(g)
		s.opt.Metrics.Drop(why.String())
		if v, ok := why.Verdict(); ok {
			s.opt.Verdicts.Note(name, at, g.host.player.Game, v)
		}
	case first:
		s.opt.Verdicts.Note(name, at, g.host.player.Game, verdicts.Listed)
	}
}

// put is list. first reports that the game had no record.
func (s *Server) put(g *game, at netip.AddrPort, now time.Time) (first bool, why uplink.Drop) {
	old, listed := s.opt.Registry.At(at)
	switch {
	case s.opt.Banned.Has(at.Addr()):
		return false, uplink.Banned
	case listed && !old.Restored && old.Origin != Origin && old.Origin.Claim == master.NoClaim, s.sources[at] != nil && s.sources[at] != g:
		return false, uplink.Elsewhere
	}
	srv := master.Server{
		Key: keyOf(at), Game: g.host.player.Game, Origin: Origin, Public: at, Via: g.host.local.Addr(), Local: g.local(), Seen: now,
		Lifetime: 2*s.opt.Ping + time.Minute, // it is touched with each ping
	}
	srv.Country, srv.Region = s.opt.Locate.Of(at.Addr())
	var report master.Report
	names, values := g.rules()
	report.Fill(s.opt.Registry, names, values, g.table(), master.Grid{})
	err := report.Into(&srv)
	if err == nil {
		err = s.opt.Registry.Put(srv)
	}
	if err != nil {
		return false, uplink.WhyNot(err)
	}
	first = !g.source.IsValid()
	g.source, s.sources[at] = at, g
	return first, uplink.NotDropped
}

// rules returns the rules of the record: those that all lists know first.
func (g *game) rules() (names, values []string) {
	add := func(name, value string) { names, values = append(names, name), append(values, value) }
	add("hostname", g.values.Get("NAME"))
	add("numplayers", strconv.Itoa(len(g.players())))
	add("maxplayers", strconv.Itoa(g.max()))
	add("hostport", strconv.Itoa(int(g.at().Port())))
	add("gamever", g.values.Get("B-version"))
	add("mapname", cmp.Or(g.values.exact("B-U-LevelName"), g.values.exact("B-U-Map")))
	add("gametype", g.values.exact("B-U-Mode"))
	for _, f := range g.values.Text {
		if strings.HasPrefix(f.Key, "B-") {
			add(f.Key, f.Value)
		}
	}
	return names, values
}

// table returns the players of the record.
func (g *game) table() (t master.Grid) {
	for _, s := range g.players() {
		t.Rows = append(t.Rows, []string{s.name, s.uid})
	}
	if len(t.Rows) > 0 {
		t.Columns = []string{"player_", "pid_"}
	}
	return t
}
