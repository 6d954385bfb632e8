package q3master

import (
	"cmp"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// request answers a request for a list.
func (s *Server) request(w netserve.PacketWriter, p netserve.Packet, rest []byte, ext bool, port uint16, now time.Time) uplink.Drop {
	r, err := quake3.ParseRequest(rest, ext)
	if err != nil {
		return uplink.MalformedRequest
	}
	a := p.From.Addr()
	if s.opt.Banned.Has(a) {
		return uplink.Banned
	}
	if !s.MayList(a, now) {
		return uplink.NoBudget
	}
	s.SendList(w, p, s.Lister.Answer(s.wanted(r, port), s.opt.Addresses.Asker(a))...)
	return uplink.NotDropped
}

// wanted finds the game of a request that came to a further port of the protocol; 0: to
// the first.
func (s *Server) wanted(r quake3.Request, port uint16) uplink.Wanted {
	index := s.names()
	q := uplink.Wanted{Name: string(r.Game), Protocol: r.Protocol, Ext: r.Ext}
	if q.Name == "" {
		q.Name, q.Tagged = cmp.Or(index.AtPort(port, r.Protocol), index.Anonymous(r.Protocol)), true
	}
	whole := index.Whole(q.Name)
	q.Empty, q.Full = r.Empty || whole, r.Full || whole
	if r.GameType != nil {
		q.Typed, q.GameType = true, string(r.GameType[:min(len(r.GameType), uplink.MaxGameType+1)])
	}
	q.Only4, q.Only6 = r.IPv4 && !r.IPv6, r.IPv6 && !r.IPv4
	return q
}

func (d *Dialect) entry(srv *master.Server) (e uplink.Entry, ok bool) {
	name, ok := srv.Rules.Get(quake3.RuleGame)
	if !ok || name == "" {
		return uplink.Entry{}, false
	}
	switch srv.Origin {
	case d.Origin, master.Static, master.Found, master.Federated:
	default:
		return uplink.Entry{}, false
	}
	text, _ := srv.Rules.Get(quake3.RuleProtocol)
	protocol, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return uplink.Entry{}, false
	}
	gameType, ok := srv.Rules.Get(quake3.RuleGameType)
	if !ok || len(gameType) > uplink.MaxGameType {
		gameType = "0"
	}
	tag := tagOf(srv)
	most, _ := srv.Rules.Get(quake3.RuleMaxPlayers)
	players, room := srv.Population(), 0
	if n, ok := master.ParsePopulation(most); ok {
		room = n
	}
	return uplink.Entry{
		Key: uplink.ListKey{Name: name, Protocol: int(protocol)}, Addr: srv.Public, GameType: gameType, Tagged: d.Named == "" || tag != d.Named,
		Empty: players == 0, Full: room > 0 && players >= room,
	}, true
}
