package q3master

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
)

// getInfoSize is the length of every getinfo, in bytes.
var getInfoSize = len(question(nil, uplink.Challenge{}, ""))

func question(b []byte, c uplink.Challenge, _ string) []byte { return quake3.AppendGetInfo(b, c[:]) }

// heartbeat asks a server for its info.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, rest []byte, port uint16, now time.Time) uplink.Drop {
	text, err := quake3.ParseHeartbeat(rest)
	if err != nil {
		return uplink.Malformed
	}
	index := s.names()
	tag, known := index.Tag(text)
	if s.dialect.Named != "" && string(text) == s.dialect.Named {
		tag, known = s.dialect.Named, true
	}
	if index.Flatline(text) {
		return s.flatline(w, p, port, now)
	}
	s.metrics.received.heartbeat.Inc()
	switch {
	case s.opt.Banned.Has(p.From.Addr()):
		return uplink.Banned
	case !known:
		return uplink.UnknownTag
	case !s.MaySend(p.From.Addr(), getInfoSize, len(p.Data), now):
		return uplink.Limited
	}
	s.Challenge(w, port, p.From, p.To, tag, now)
	return uplink.NotDropped
}

// flatline asks a listed server that says it stops: the packet may be forged, but
// only a server that stopped does not answer.
func (s *Server) flatline(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	s.metrics.received.flatline.Inc()
	srv, ok := s.opt.Registry.Get(s.KeyOf(p.From))
	if !ok {
		return uplink.NotDropped
	}
	s.Challenge(w, port, p.From, p.To, tagOf(srv), now)
	return uplink.NotDropped
}

// info lists a server whose info brings its challenge back.
func (s *Server) info(p netserve.Packet, rest []byte, now time.Time) uplink.Drop {
	s.metrics.received.info.Inc()
	i, err := s.dialect.Info(rest)
	if err != nil {
		return s.malformed(p.From, rest, now)
	}
	v, dropped := s.Answer(p.From, uplink.Same(i.Challenge), now)
	if dropped != uplink.NotDropped {
		return dropped
	}
	is, dropped := s.gameOf(v.About, i)
	if dropped != uplink.NotDropped {
		return dropped
	}
	names, values := []string{quake3.RuleGame, quake3.RuleTag}, []string{is.name, is.tag}
	for name, value := range quake3.Rules(quake3.Pairs(rest)) {
		if name != "gamename" { // in a status it is the mod
			names, values = append(names, name), append(values, value)
		}
	}
	return s.List(v, uplink.Listing{Game: is.game, Foreign: is.foreign, Names: names, Values: values})
}

// malformed returns why an info that cannot be read is dropped: as malformed if it
// brings a challenge back, since only that is from the server itself.
func (s *Server) malformed(a netip.AddrPort, rest []byte, now time.Time) uplink.Drop {
	for key, value := range quake3.Pairs(rest) {
		if string(key) != "challenge" {
			continue
		}
		if _, dropped := s.Answer(a, uplink.Same(value), now); dropped != uplink.NotDropped {
			return dropped
		}
		return uplink.Malformed
	}
	return uplink.Unexpected
}

// identity identifies the game of a server.
type identity struct {
	tag, name string // in the protocol; case matters
	game      string // in the list of servers
	foreign   bool   // the game is not in the catalogue
}

// gameOf returns the game of a server that sent heartbeats with a tag.
func (s *Server) gameOf(tag string, i quake3.Info) (is identity, dropped uplink.Drop) {
	index := s.names()
	is.tag = tag
	switch {
	case s.dialect.Named == "": // the games do not name themselves, mods may
		is.name, is.game, _ = index.Tagged(tag, "", i.Protocol)
	case tag == s.dialect.Named:
		is.name = string(i.GameName)
		is.game = index.Named(is.name, i.Protocol)
	default:
		is.name, is.game, _ = index.Tagged(tag, string(i.GameName), i.Protocol)
	}
	if is.name == "" || len(is.name) > quake3.MaxGame {
		return identity{}, uplink.UnknownGame
	}
	if is.game == "" {
		var ok bool
		if is.game, ok = s.opt.Listing.Games.ListedAs(is.name, true); !ok {
			return identity{}, uplink.UnknownGame
		}
		_, known := s.opt.Listing.Games.Lookup(is.game)
		is.foreign = !known
	}
	if !s.live.Load().allows(is.game, is.name) {
		return identity{}, uplink.UnknownGame
	}
	return is, uplink.NotDropped
}
