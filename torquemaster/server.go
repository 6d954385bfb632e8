package torquemaster

import (
	"crypto/subtle"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// name is that of the service, game that of the game whose servers it lists.
const (
	name = "torquemaster"
	game = "torque"
)

// Config is section torquemaster of the configuration. The comment of each field explains its key.
type Config struct {
	// UDP address. Servers and browsers expect port 28002.
	Listen string `key:"listen" default:":28002" listen:"udp 28002"`
	uplink.Config
	uplink.ListConfig
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "torque", Story: "It registered with the master server of Torque; its address is verified.", Query: "torque",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Torque master"})

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
			Service: name, Origin: Origin, Instance: 0x544F5251,
			Question: func(b []byte, c uplink.Challenge, _ string) []byte { return appendKey(b, infoRequest, keyOf(c)) },
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
	if len(p.Data) < headSize || !p.From.Addr().Is4() {
		return uplink.Foreign
	}
	if s.Banned(p.From.Addr()) {
		return uplink.Banned
	}
	switch body := p.Data[headSize:]; kind(p.Data[0]) {
	case heartbeat:
		if !s.MaySend(p.From.Addr(), headSize, len(p.Data), now) {
			return uplink.Limited
		}
		s.Challenge(w, port, p.From, p.To, "", now)
		return uplink.NotDropped
	case infoResponse:
		return s.information(p, body, now)
	case listRequest:
		return s.list(w, p, body, now)
	case typesRequest:
		return s.types(w, p, now)
	default:
		return uplink.Foreign
	}
}

// information lists a server whose info brings its key back.
func (s *server) information(p netserve.Packet, body []byte, now time.Time) uplink.Drop {
	i, bad := parseInfo(body)
	v, dropped := s.Answer(p.From, func(c uplink.Challenge) bool {
		return subtle.ConstantTimeCompare(appendKey(nil, infoRequest, keyOf(c))[2:], p.Data[2:headSize]) == 1
	}, now)
	switch {
	case dropped != uplink.NotDropped:
		return dropped
	case bad != nil:
		return uplink.Malformed
	}
	_, known := s.opt.Games.Lookup(game)
	names, values := i.rules()
	return s.List(v, uplink.Listing{Game: game, Foreign: !known, Names: names, Values: values})
}

// typeOf returns the type of game of a server as lists select by it.
func typeOf(text string) string { return strings.ToLower(text[:min(len(text), uplink.MaxGameType)]) }

func entry(srv *master.Server) (e uplink.Entry, ok bool) {
	ok = srv.Public.Addr().Is4() && (srv.Origin == Origin || srv.Origin == master.Federated && srv.Game == game)
	gameType, _ := srv.Rules.Get("gametype")
	return uplink.Entry{Key: uplink.ListKey{Name: game}, Addr: srv.Public, GameType: typeOf(gameType), Empty: srv.Population() == 0}, ok
}

// list answers a request for the list, or for a packet of it.
func (s *server) list(w netserve.PacketWriter, p netserve.Packet, body []byte, now time.Time) uplink.Drop {
	want, err := parseWanted(body)
	if err != nil {
		return uplink.Malformed
	}
	a := p.From.Addr()
	if !s.MayList(a, now) {
		return uplink.NoBudget
	}
	picks := uplink.Picks{Empty: want.least == 0}
	if want.gameType != "" && !strings.EqualFold(want.gameType, anyType) {
		picks.Typed, picks.GameType = true, typeOf(want.gameType)
	}
	packets := s.Lister.Answer(uplink.Wanted{Name: game, Picks: picks}, s.opt.Addresses.Asker(a))
	if i := int(want.index); i != newList {
		packets = packets[min(i, len(packets)):min(i+1, len(packets))]
	}
	packets = slices.Clone(packets)
	for i, b := range packets { // which all askers share
		packets[i] = slices.Clone(b)
		copy(packets[i][2:headSize], p.Data[2:headSize])
	}
	s.SendList(w, p, packets...)
	return uplink.NotDropped
}

// types answers a request for the types of games and missions.
func (s *server) types(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	if !s.MayList(p.From.Addr(), now) {
		return uplink.NoBudget
	}
	var kinds, missions []string
	for srv := range s.opt.Registry.List(game) {
		kind, _ := srv.Rules.Get("gametype")
		mission, _ := srv.Rules.Get("missiontype")
		kinds, missions = append(kinds, kind), append(missions, mission)
	}
	b := appendTypes(appendHead(nil, typesResponse, p.Data[2:headSize]), kinds, missions)
	if len(b) > maxPacket { // long names: a browser can do without
		b = appendTypes(appendHead(nil, typesResponse, p.Data[2:headSize]), nil, nil)
	}
	s.SendList(w, p, b)
	return uplink.NotDropped
}
