package idmaster

import (
	"hash/crc32"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

const name = "idmaster"

// maxAll is the number of servers in a list of all protocols.
const maxAll = 4096

// Options configure a Server.
type Options struct {
	Config // its live keys are replaced by Reload
	part.Registration

	Players netserve.AddrSet // banned ones
}

// Server is the master. It implements netserve.PacketHandler.
type Server struct {
	uplink.Master
	opt Options

	received               [idtech4.KindAuth + 1]prometheus.Counter
	accepted, denied, keys prometheus.Counter
}

// New returns a Server. Nothing runs until Serve is called.
func New(opt Options) *Server {
	s := &Server{opt: opt}
	s.Master = uplink.New(uplink.Options{
		Registration: opt.Registration, Readers: opt.Readers, MaxPacket: idtech4.MaxPacket, Handle: s.handle,
		List: uplink.ListForm{Entry: entry, Append: func(packets [][]byte, list []netip.AddrPort, _ bool) [][]byte {
			return idtech4.AppendLists(packets, list)
		}},
		Dialect: uplink.Dialect{
			Service: name, Origin: Origin, Instance: 0x49445434,
			Question: func(b []byte, c uplink.Challenge, _ string) []byte { return idtech4.AppendGetInfo(b, number(c)) },
		},
	})
	in := metric.With(opt.Registerer)
	received := in.Counters("respawnd_idmaster_received_total", "Messages taken from game servers and players, by kind.", "kind").WithLabelValues
	for kind, label := range map[idtech4.Kind]string{
		idtech4.KindHeartbeat: "heartbeat", idtech4.KindInfo: "info", idtech4.KindGetServers: "list", idtech4.KindVersionCheck: "version",
		idtech4.KindClAuth: "client_keys", idtech4.KindGameAuth: "game_keys", idtech4.KindSrvAuth: "player_check",
	} {
		s.received[kind] = received(label)
	}
	answers := in.Counters("respawnd_idmaster_answers_total", "Answers about players: keys that were accepted, players that may join or not.", "answer").WithLabelValues
	s.keys, s.accepted, s.denied = answers("key"), answers("accepted"), answers("denied")
	s.Reload(&opt.Config)
	return s
}

func number(c uplink.Challenge) uint32 { return crc32.ChecksumIEEE(c[:]) }

// Reload applies the live keys at once. Budgets begin full.
func (s *Server) Reload(c *Config) { s.Keeper.Reload(c.Config, c.ListConfig, 0) }

// handle returns why the packet was dropped, if it was.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	kind, rest, ok := idtech4.Cut(p.Data)
	switch {
	case !ok:
		return uplink.Foreign
	case s.received[kind] == nil:
		return uplink.UnknownKind
	case s.Banned(p.From.Addr()):
		return uplink.Banned
	}
	s.received[kind].Inc()
	switch kind {
	case idtech4.KindHeartbeat:
		return s.heartbeat(w, p, port, now)
	case idtech4.KindInfo:
		return s.info(p, rest, now)
	case idtech4.KindGetServers:
		return s.list(w, p, rest, now)
	case idtech4.KindClAuth, idtech4.KindGameAuth:
		return s.key(w, p, rest, kind == idtech4.KindGameAuth)
	case idtech4.KindSrvAuth:
		return s.check(w, p, rest)
	default: // versionCheck: no answer means that there is no newer one
		return uplink.NotDropped
	}
}

// questionSize is the length of every question to a server.
var questionSize = len(idtech4.AppendGetInfo(nil, 0))

// heartbeat asks a server for its info.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, port uint16, now time.Time) uplink.Drop {
	if !s.MaySend(p.From.Addr(), questionSize, len(p.Data), now) {
		return uplink.Limited
	}
	s.Challenge(w, port, p.From, p.To, "", now)
	return uplink.NotDropped
}

// info lists a server whose info brings its challenge back.
func (s *Server) info(p netserve.Packet, rest []byte, now time.Time) uplink.Drop {
	i, bad := idtech4.ParseInfo(rest)
	challenge, err := idtech4.Challenge(rest)
	if err != nil {
		return uplink.Unexpected
	}
	v, dropped := s.Answer(p.From, func(c uplink.Challenge) bool { return number(c) == challenge }, now)
	switch {
	case dropped != uplink.NotDropped:
		return dropped
	case bad != nil:
		return uplink.Malformed
	}
	game, ok := s.opt.Games.MasterNames(name).Speaking(i.Protocol.Major())
	if !ok {
		return uplink.UnknownGame
	}
	names, values := i.Rules()
	return s.List(v, uplink.Listing{Game: game, Names: names, Values: values})
}

func entry(srv *master.Server) (e uplink.Entry, ok bool) {
	switch {
	case srv.Origin == Origin, srv.QueryProtocol() == "idtech4":
	default:
		return uplink.Entry{}, false
	}
	text, _ := srv.Rules.Get(idtech4.RuleProtocol)
	protocol, ok := idtech4.ParseProtocol(text)
	if !ok || !srv.Public.Addr().Is4() {
		return uplink.Entry{}, false
	}
	return uplink.Entry{Key: uplink.ListKey{Name: name, Protocol: int(protocol)}, Addr: srv.Public}, true
}

// list answers a request for a list.
func (s *Server) list(w netserve.PacketWriter, p netserve.Packet, rest []byte, now time.Time) uplink.Drop {
	r, err := idtech4.ParseRequest(rest)
	a := p.From.Addr()
	switch {
	case err != nil:
		return uplink.MalformedRequest
	case !s.MayList(a, now):
		return uplink.NoBudget
	}
	var packets [][]byte
	asker := s.opt.Addresses.Asker(a)
	if r.Protocol == 0 {
		list := s.Lister.All(maxAll)
		for i := range list {
			list[i] = asker.Given(list[i])
		}
		packets = idtech4.AppendLists(nil, list)
	} else {
		packets = s.Lister.Answer(uplink.Wanted{Name: name, Protocol: int(r.Protocol), Picks: uplink.Picks{Empty: true, Full: true}}, asker)
	}
	s.SendList(w, p, packets...)
	return uplink.NotDropped
}

// key answers a player that sends a key: it is good.
func (s *Server) key(w netserve.PacketWriter, p netserve.Packet, rest []byte, game bool) uplink.Drop {
	k, err := idtech4.ParseKeys(rest, game)
	if err != nil || len(k.Key) == 0 {
		return uplink.MalformedRequest
	}
	if s.opt.Players.Has(p.From.Addr()) {
		return uplink.Banned
	}
	var buf [64]byte
	b := idtech4.AppendAuthKey(buf[:0], idtech4.GUIDOf(k.Key))
	if len(b) > len(p.Data) { // no key of the games is so short
		return uplink.MalformedRequest
	}
	s.Send(w, b, p.To, p.From)
	s.keys.Inc()
	return uplink.NotDropped
}

// check answers a server whether a player may join. The answer is shorter than the
// question.
func (s *Server) check(w netserve.PacketWriter, p netserve.Packet, rest []byte) uplink.Drop {
	c, err := idtech4.ParseCheck(rest)
	if err != nil {
		return uplink.MalformedRequest
	}
	v := idtech4.Verdict{Reply: idtech4.Accepted, Client: int16(c.Client), Player: c.Player, GUID: c.GUID}
	if s.opt.Players.Has(c.Player.Addr()) {
		v.Reply = idtech4.Denied
	}
	var buf [64]byte
	s.Send(w, v.AppendTo(buf[:0]), p.To, p.From)
	if v.Reply == idtech4.Accepted {
		s.accepted.Inc()
	} else {
		s.denied.Inc()
	}
	return uplink.NotDropped
}
