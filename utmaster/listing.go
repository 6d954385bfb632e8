package utmaster

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// instance marks the records of this master.
const instance = 0x45504943

func keyOf(a netip.AddrPort) master.Key { return master.Key{Source: a, Instance: instance} }

// Rules that this master adds to those of the server.
const (
	ruleQueryPort = "queryport" // of the game's own protocol
	ruleSkill     = "skilllevel"
	ruleMutators  = "mutators" // with commas between them; empty: none
)

// Rules that servers report.
const (
	ruleMutator    = "mutator"
	rulePassword   = "GamePassword"
	ruleStatistics = "GameStats"
	ruleVersion    = "ServerVersion"
	ruleMode       = "ServerMode"
	ruleMinPlayers = "MinPlayers"
	ruleTransloc   = "Translocator"
	ruleWeaponStay = "WeaponStay"
)

// address returns the address that the record of the server has: that of its GameSpy
// query port, if it reports there too, else of its own query port.
func (x *session) address() netip.AddrPort {
	ports := x.link.ports()
	if x.link.mode.GameSpy {
		return netip.AddrPortFrom(x.link.peer, ports.GameSpy)
	}
	return netip.AddrPortFrom(x.link.peer, ports.Query)
}

// list lists the server of the connection, or renews its record. The error ends the
// connection.
func (x *session) list() error {
	s, now := x.server, time.Now()
	s.metrics.states.Inc()
	if s.opt.Banned.Has(x.link.peer) {
		return endedBanned
	}
	at := x.address()
	s.mu.Lock()
	before, first, why := x.put(at, now)
	s.mu.Unlock()
	if before != nil {
		before.replace()
	}
	switch {
	case why != notDropped:
		return why
	case first:
		s.metrics.registered.Inc()
		s.opt.Verdicts.Note(serviceName, at, x.game.Name, verdicts.Listed)
	case x.muted && x.link.proved:
		s.opt.Verdicts.Note(serviceName, at, x.game.Name, verdicts.Listed)
	}
	x.muted = x.muted && !x.link.proved
	return nil
}

// put lists the server. before is the connection that had it, if another one; first
// reports that it was not listed. Server.mu is held.
func (x *session) put(at netip.AddrPort, now time.Time) (before *session, first bool, why ended) {
	s := x.server
	live := s.live.Load()
	_, known := s.table.hosts.Get(at)
	if !known && !x.source.IsValid() && !s.opt.Trusted.Has(at.Addr()) && s.table.hosts.Refusal(at.Addr(), live.ServersPerAddr) == uplink.TooMany {
		return nil, false, endedTooMany
	}
	old, listed := s.opt.Registry.At(at)
	if listed && !replaceable(old) {
		return nil, false, endedElsewhere
	}
	if listed && (old.Origin != Origin || old.Game != x.game.Name) {
		old, listed = nil, false
	}
	srv := master.Server{
		Key: keyOf(at), Game: x.game.Name, Origin: Origin, Public: at, Via: x.conn.Local().Addr(),
		Lifetime: live.Timeout + time.Minute, Seen: now,
	}
	switch {
	case old != nil:
		srv.Country, srv.Region = old.Country, old.Region
	default:
		srv.Country, srv.Region = s.opt.Locate.Of(at.Addr())
	}
	var report master.Report
	names, values := x.rules()
	report.Fill(s.opt.Registry, names, values, players(x.link.state.List), master.Grid{})
	if listed && !old.Restored && report.Same(old) && s.opt.Registry.Touch(srv.Key, srv.Origin, now) {
		return s.claim(x, at), false, notDropped
	}
	err := report.Into(&srv)
	if err == nil {
		err = s.opt.Registry.Put(srv)
	}
	if err != nil {
		return nil, false, endedFor[uplink.WhyNot(err)]
	}
	return s.claim(x, at), !listed || old.Restored, notDropped
}

// endedFor are the reasons to end a connection whose server is not listed.
var endedFor = map[uplink.Drop]ended{uplink.TooMany: endedTooMany, uplink.Full: endedFull, uplink.Malformed: endedMalformed}

// claim makes the connection the one of the server at an address. A record that it had
// under another one leaves. Server.mu is held.
func (s *Server) claim(x *session, at netip.AddrPort) (before *session) {
	if x.source.IsValid() && x.source != at {
		s.opt.Registry.Remove(keyOf(x.source))
	}
	return s.table.claim(x, at)
}

// replaceable reports whether a server that reports here may replace a record: one of
// GameSpy's old protocol too, which has less.
func replaceable(old *master.Server) bool {
	return old.Restored || old.Origin.Query == Origin.Query || old.Origin.Claim != master.NoClaim
}

// rules returns the rules of the record: those that all lists know first.
func (x *session) rules() (names, values []string) {
	st, ports := x.link.state, x.link.ports()
	add := func(name, value string) { names, values = append(names, name), append(values, value) }
	population := func(n int32) string { return strconv.Itoa(int(min(max(n, 0), maxPopulated))) }
	version, password, mutators := "", "", []string(nil)
	for _, r := range st.Rules {
		switch {
		case ascii.EqualFold(r.Name, ruleMutator):
			if len(mutators) < maxMutators {
				mutators = append(mutators, strings.ReplaceAll(r.Value, ",", " "))
			}
		case ascii.EqualFold(r.Name, ruleVersion):
			version = r.Value
		case ascii.EqualFold(r.Name, rulePassword):
			password = r.Value
		}
	}
	if version == "" {
		version = strconv.Itoa(int(x.hello.Version))
	}
	add("hostname", st.Name)
	add("mapname", st.Map)
	add("gametype", st.GameType)
	add("numplayers", population(st.Players))
	add("maxplayers", population(st.Max))
	add("hostport", strconv.Itoa(int(ports.Game)))
	add(ruleQueryPort, strconv.Itoa(int(ports.Query)))
	if x.link.mode.GameSpy {
		add(ruleGameSpyPort, strconv.Itoa(int(ports.GameSpy)))
	}
	add("gamever", version)
	add("password", strconv.Itoa(int(number(master.IsYes(password)))))
	add(ruleMutators, strings.Join(mutators, ","))
	if st.Skill != "" {
		add(ruleSkill, st.Skill)
	}
	for _, r := range st.Rules {
		if r.Name != "" && !ascii.EqualFold(r.Name, ruleMutator) {
			add(r.Name, r.Value)
		}
	}
	return names, values
}

// players returns the table of players of a state.
func players(list []Player) (g master.Grid) {
	if len(list) == 0 {
		return g
	}
	g.Columns = []string{"player_", "score_", "ping_"}
	for _, p := range list {
		g.Rows = append(g.Rows, []string{p.Name, strconv.Itoa(int(p.Score)), strconv.Itoa(int(p.Ping))})
	}
	return g
}
