package odamaster

import (
	"hash/crc32"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// name is that of the service, game that of the game whose servers it lists.
const (
	name = "odamaster"
	game = "odamex"
)

// Config is section odamaster of the configuration. The comment of each field explains its key.
type Config struct {
	// UDP address. Servers and launchers expect port 15000.
	Listen string `key:"listen" default:":15000" listen:"udp 15000"`
	uplink.Config
	uplink.ListConfig
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "odamex", Story: "It registered with the master server of Odamex; its address is verified.", Query: "odamex",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Odamex master"})

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
		List: uplink.ListForm{Entry: entry, Append: appendList, BusyFirst: true},
		Dialect: uplink.Dialect{
			Service: name, Origin: Origin, Instance: 0x4F44414D,
			Question: func(b []byte, c uplink.Challenge, _ string) []byte { return appendQuestion(b, keyOf(c)) },
		},
	})
	s.Reload(&opt.Config)
	return s
}

// keyOf returns a challenge as the number that it is in this protocol.
func keyOf(c uplink.Challenge) uint32 { return crc32.ChecksumIEEE(c[:]) }

// Reload applies the live keys at once. Budgets begin full.
func (s *server) Reload(c *Config) { s.Keeper.Reload(c.Config, c.ListConfig, 1) }

// handle returns why the packet was dropped, if it was.
func (s *server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	m := parse(p.Data)
	switch {
	case m.kind == foreign || !p.From.Addr().Is4():
		return uplink.Foreign
	case s.Banned(p.From.Addr()):
		return uplink.Banned
	case m.kind == heartbeat:
		return s.heartbeat(w, p, m, port, now)
	case m.kind == information:
		return s.information(p, m, now)
	default:
		return s.list(w, p, now)
	}
}

// heartbeat asks a server for its info, at the port that it names.
func (s *server) heartbeat(w netserve.PacketWriter, p netserve.Packet, m message, port uint16, now time.Time) uplink.Drop {
	at := p.From
	if m.port != 0 {
		at = netip.AddrPortFrom(at.Addr(), m.port)
	}
	if !s.MaySend(at.Addr(), wordSize+keySize, len(p.Data), now) {
		return uplink.Limited
	}
	s.Challenge(w, port, at, p.To, "", now)
	return uplink.NotDropped
}

// information lists a server whose info brings its key back.
func (s *server) information(p netserve.Packet, m message, now time.Time) uplink.Drop {
	names, values, bad := rules(m.info)
	v, dropped := s.Answer(p.From, func(c uplink.Challenge) bool { return keyOf(c) == m.key }, now)
	switch {
	case dropped != uplink.NotDropped:
		return dropped
	case bad != nil:
		return uplink.Malformed
	}
	_, known := s.opt.Games.Lookup(game)
	return s.List(v, uplink.Listing{Game: game, Foreign: !known, Names: names, Values: values})
}

func entry(srv *master.Server) (e uplink.Entry, ok bool) {
	ok = srv.Public.Addr().Is4() && (srv.Origin == Origin || srv.Origin == master.Federated && srv.Game == game)
	return uplink.Entry{Key: uplink.ListKey{Name: game}, Addr: srv.Public, Empty: srv.Population() == 0}, ok
}

// list answers a request for the list.
func (s *server) list(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	a := p.From.Addr()
	if !s.MayList(a, now) {
		return uplink.NoBudget
	}
	s.SendList(w, p, s.Lister.Answer(uplink.Wanted{Name: game, Picks: uplink.Picks{Empty: true}}, s.opt.Addresses.Asker(a))...)
	return uplink.NotDropped
}
