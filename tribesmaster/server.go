package tribesmaster

import (
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// name is that of the service, game that of the game whose servers it lists.
const (
	name = "tribesmaster"
	game = "tribes"
)

// questions is how often a server must answer before it is listed, as a key alone is guessed soon.
const questions = 3

// Config is section tribesmaster of the configuration. The comment of each field explains its key.
type Config struct {
	// UDP address. Servers and browsers expect port 28000.
	Listen string `key:"listen" default:":28000" listen:"udp 28000"`
	uplink.Config
	uplink.ListConfig
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "tribes", Story: "It registered with the master server of Tribes; its address is verified.", Query: "tribes",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Tribes master"})

// options are the parts of a server.
type options struct {
	Config // its live keys are replaced by Reload
	part.Registration
}

// server is the master. It implements netserve.PacketHandler.
type server struct {
	uplink.Master
	opt options
}

// newServer returns a server. Nothing runs until Serve is called.
func newServer(opt options) *server {
	s := &server{opt: opt}
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: maxPacket, Handle: s.handle,
		List: uplink.ListForm{Entry: entry, Append: appendList},
		Dialect: uplink.Dialect{
			Service: name, Origin: Origin, Instance: 0x54524942,
			Question: func(b []byte, c uplink.Challenge, _ string) []byte { return appendRequest(b, newList, keyOf(c)) },
		},
	})
	s.Reload(&opt.Config)
	return s
}

// Reload applies the live keys at once. Budgets begin full.
func (s *server) Reload(c *Config) { s.Keeper.Reload(c.Config, c.ListConfig, 1) }

// handle returns why the packet was dropped, if it was.
func (s *server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	k, a := kindOf(p.Data), p.From.Addr()
	switch {
	case k == 0 || !a.Is4():
		return uplink.Foreign
	case s.Banned(a):
		return uplink.Banned
	case k == heartbeat:
		if !s.MaySend(a, keyAt+keySize, len(p.Data), now) {
			return uplink.Limited
		}
		s.Challenge(w, port, p.From, p.To, "", now)
		return uplink.NotDropped
	case k == answer:
		return s.answered(w, p, port, now)
	case k == request:
		return s.list(w, p, now)
	default:
		return uplink.Foreign
	}
}

// answered asks a server that brings a key back for the next one, and lists it after the last.
func (s *server) answered(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	key, ok := keyIn(p.Data)
	if !ok {
		return uplink.Malformed
	}
	v, dropped := s.Answer(p.From, func(c uplink.Challenge) bool { return key == keyOf(c) }, now)
	if dropped != uplink.NotDropped {
		return dropped
	}
	if so := v.About + "+"; len(so) < questions { // a mark for each answer, which is part of what keys are made from
		s.Challenge(w, port, p.From, p.To, so, now)
		return uplink.NotDropped
	}
	_, known := s.opt.Games.Lookup(game)
	return s.List(v, uplink.Listing{Game: game, Foreign: !known})
}

func entry(srv *master.Server) (e uplink.Entry, ok bool) {
	ok = srv.Public.Addr().Is4() && (srv.Origin == Origin || srv.Origin == master.Federated && srv.Game == game)
	return uplink.Entry{Key: uplink.ListKey{Name: game}, Addr: srv.Public}, ok
}

// list answers a request for the list, or for a packet of it.
func (s *server) list(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	if len(p.Data) <= keyAt { // quakestat sends half an ID
		return uplink.MalformedRequest
	}
	a := p.From.Addr()
	if !s.MayList(a, now) {
		return uplink.NoBudget
	}
	packets := s.Lister.Answer(uplink.Wanted{Name: game}, s.opt.Addresses.Asker(a))
	if i := int(p.Data[2]); i != newList {
		packets = packets[min(max(i-1, 0), len(packets)):min(i, len(packets))]
	}
	id := noID
	if _, ok := keyIn(p.Data); ok {
		id = p.Data[keyAt : keyAt+keySize]
	}
	packets = slices.Clone(packets)
	for i, b := range packets { // which all askers share
		packets[i] = slices.Clone(b)
		copy(packets[i][keyAt:], id)
	}
	s.SendList(w, p, packets...)
	return uplink.NotDropped
}
