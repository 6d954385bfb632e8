package q3master

import (
	"errors"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// instance marks the records of this master.
const instance = 0x51334D52

func keyOf(a netip.AddrPort) master.Key { return master.Key{Source: a, Instance: instance} }

// named is the tag of servers that always state the name of their game.
const named = "DarkPlaces"

// getInfoSize is the length of every getinfo, in bytes.
var getInfoSize = len(quake3.AppendGetInfo(nil, make([]byte, challengeSize)))

// heartbeat asks a server for its info.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, rest []byte, now time.Time) drop {
	text, err := quake3.ParseHeartbeat(rest)
	if err != nil {
		return dropMalformed
	}
	index := s.opt.Games.Quake3()
	tag, known := index.Tag(text)
	if string(text) == named {
		tag, known = named, true
	}
	if index.Flatline(text) {
		return s.flatline(w, p, now)
	}
	s.metrics.received.heartbeat.Inc()
	switch {
	case s.opt.Banned.Has(p.From.Addr()):
		return dropBanned
	case !known:
		return dropTag
	}
	if len(p.Data) < getInfoSize && !s.opt.Trusted.Has(p.From.Addr()) && !s.live.Load().unproved.Allow(p.From.Addr(), now) {
		return dropLimited
	}
	s.challenge(w, p.From, p.To, tag, now)
	return notDropped
}

// flatline asks a listed server that says it stops: the packet may be forged, but
// only a server that stopped does not answer.
func (s *Server) flatline(w netserve.PacketWriter, p netserve.Packet, now time.Time) drop {
	s.metrics.received.flatline.Inc()
	srv, ok := s.opt.Registry.Get(keyOf(p.From))
	if !ok {
		return notDropped
	}
	tag, _ := srv.Rules.Get(quake3.RuleTag)
	s.challenge(w, p.From, p.To, tag, now)
	return notDropped
}

// challenge sends a getinfo to a server from our address via.
func (s *Server) challenge(w netserve.PacketWriter, a netip.AddrPort, via netip.Addr, tag string, now time.Time) {
	s.mu.Lock()
	c, gone := s.hosts.hear(a, via, tag, s.live.Load().MaxPending, now)
	_, known := s.hosts.known[a]
	s.mu.Unlock()
	for range gone {
		s.opt.Metrics.Drop(dropPending.String())
	}
	s.ask(w, a, via, c)
	if !known {
		s.note(a, "", verdicts.ChallengeSent)
	}
}

func (s *Server) ask(w netserve.PacketWriter, a netip.AddrPort, via netip.Addr, c challenge) {
	var buf [64]byte
	s.out.Send(w, quake3.AppendGetInfo(buf[:0], c[:]), via, a)
	s.metrics.challenges.Inc()
}

// info lists a server whose info brings its challenge back.
func (s *Server) info(p netserve.Packet, rest []byte, now time.Time) drop {
	s.metrics.received.info.Inc()
	i, err := quake3.ParseInfo(rest)
	if err != nil {
		return s.malformed(p.From, rest, now)
	}
	s.mu.Lock()
	v, dropped := s.hosts.answer(p.From, i.Challenge, now)
	s.mu.Unlock()
	switch {
	case dropped != notDropped:
		return dropped
	case s.opt.Banned.Has(p.From.Addr()): // since its heartbeat
		return dropBanned
	}
	is, dropped := s.gameOf(v.tag, i)
	if dropped != notDropped {
		return dropped
	}
	first, dropped := s.list(p.From, v.via, is, rest)
	switch {
	case dropped != notDropped:
		return dropped
	case first:
		s.metrics.registered.Inc()
		s.note(p.From, is.game, verdicts.Listed)
	default:
		s.metrics.refreshed.Inc()
	}
	return notDropped
}

// malformed returns why an info that cannot be read is dropped: as malformed if it
// brings a challenge back, since only that is from the server itself.
func (s *Server) malformed(a netip.AddrPort, rest []byte, now time.Time) drop {
	for key, value := range quake3.Pairs(rest) {
		if string(key) != "challenge" {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, dropped := s.hosts.answer(a, value, now); dropped != notDropped {
			return dropped
		}
		return dropMalformed
	}
	return dropUnexpected
}

// identity is what a server runs.
type identity struct {
	tag, name string // in the protocol; case matters
	game      string // in the list of servers
	foreign   bool   // the game is not in the catalogue
}

// gameOf returns what a server runs that sent heartbeats with a tag.
func (s *Server) gameOf(tag string, i quake3.Info) (is identity, dropped drop) {
	index := s.opt.Games.Quake3()
	is.tag = tag
	if tag == named {
		is.name = string(i.GameName)
		is.game = index.Named(is.name, i.Protocol)
	} else {
		is.name, is.game, _ = index.Tagged(tag, string(i.GameName), i.Protocol)
	}
	if is.name == "" || len(is.name) > quake3.MaxGame {
		return identity{}, dropGame
	}
	if is.game == "" {
		var ok bool
		if is.game, ok = s.opt.Games.ListedAs(is.name, true); !ok {
			return identity{}, dropGame
		}
		_, known := s.opt.Games.Lookup(is.game)
		is.foreign = !known
	}
	if !s.live.Load().allows(is.game, is.name) {
		return identity{}, dropGame
	}
	return is, notDropped
}

// unknownGame returns the game if it is not in the catalogue.
func (is identity) unknownGame() string {
	if is.foreign {
		return is.game
	}
	return ""
}

// list lists a server that has proved its address, or renews its record. first
// reports that it was not listed, or only from the saved list.
func (s *Server) list(a netip.AddrPort, via netip.Addr, is identity, rest []byte) (first bool, dropped drop) {
	live, now := s.live.Load(), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	old, listed := s.opt.Registry.At(a)
	if listed && !replaceable(old) {
		return false, dropElsewhere
	}
	if listed && (old.Origin != master.FromQuake3 || old.Game != is.game) {
		old = nil
	}
	if dropped = s.room(a, is, live); dropped != notDropped {
		return false, dropped
	}
	srv := master.Server{
		Key: keyOf(a), Game: is.game, Origin: master.FromQuake3, Public: a, Via: via, Lifetime: live.Timeout, Seen: now,
	}
	switch {
	case old != nil:
		srv.Country, srv.Region = old.Country, old.Region
	case s.opt.Locate != nil:
		srv.Country, srv.Region = s.opt.Locate(a.Addr())
	}
	if err := s.put(srv, old, is, rest); err != nil {
		return false, whyNot(err)
	}
	s.hosts.add(a, is.unknownGame())
	return old == nil || old.Restored, notDropped
}

// replaceable reports whether a server that reports here may replace a record: not
// that of another protocol in which it reports itself.
func replaceable(old *master.Server) bool {
	switch old.Origin {
	case master.FromQuake3, master.FromValve, master.FromLAN, master.Static, master.Federated:
		return true
	default:
		return old.Restored
	}
}

// room returns why there is no room for a server. Server.mu is held.
func (s *Server) room(a netip.AddrPort, is identity, live *live) drop {
	h, known := s.hosts.known[a]
	limit := live.MaxPerAddr
	switch {
	case known && h.game == is.unknownGame():
		return notDropped
	case known || s.opt.Trusted.Has(a.Addr()):
		limit = 0
	}
	return s.hosts.room(a.Addr(), limit, is.unknownGame(), live.MaxGames)
}

// put lists a record with the rules of an info. old is the record that it renews,
// nil if there is none: players, and rules that only a status tells, stay.
func (s *Server) put(srv master.Server, old *master.Server, is identity, rest []byte) error {
	names, values := []string{quake3.RuleGame, quake3.RuleTag}, []string{is.name, is.tag}
	for name, value := range quake3.Rules(quake3.Pairs(rest)) {
		if name != "gamename" { // in a status it is the mod
			names, values = append(names, name), append(values, value)
		}
	}
	if old != nil {
		if !old.Restored && sameRules(old.Rules, names, values) && s.opt.Registry.Touch(srv.Key, srv.Origin, srv.Seen) {
			return nil
		}
		for name, value := range old.Rules.All() {
			names, values = append(names, name), append(values, value) // of a name the first counts
		}
	}
	var report master.Report
	report.Fill(s.opt.Registry, names, values, master.Grid{}, master.Grid{})
	if err := report.Into(&srv); err != nil {
		return err
	}
	if old != nil {
		srv.Players, srv.Teams = old.Players, old.Teams
	}
	return s.opt.Registry.Put(srv)
}

// sameRules reports whether a record has all the rules already.
func sameRules(old master.Fields, names, values []string) bool {
	for i, name := range names {
		if value, ok := old.Get(name); !ok || value != values[i] {
			return false
		}
	}
	return true
}

// whyNot returns the reason for an error of the list of servers.
func whyNot(err error) drop {
	switch {
	case errors.Is(err, master.ErrTooManyHere), errors.Is(err, master.ErrTaken):
		return dropTooMany
	case errors.Is(err, master.ErrFull):
		return dropFull
	default:
		return dropMalformed
	}
}

// known reports whether this master lists a server.
func (s *Server) known(a netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.hosts.known[a]
	return ok
}

// note notes a verdict.
func (s *Server) note(a netip.AddrPort, game string, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, game, v)
}
