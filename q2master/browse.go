package q2master

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// maxAll is the number of servers in a list of all games.
const maxAll = 4096

// list answers a request for a list.
func (s *Server) list(w netserve.PacketWriter, p netserve.Packet, place Place, now time.Time) uplink.Drop {
	a := p.From.Addr()
	if !s.MayList(a, now) {
		return uplink.NoBudget
	}
	s.SendList(w, p, s.packetsOf(place, a)...)
	return uplink.NotDropped
}

// packetsOf returns the list of a place for an address.
func (s *Server) packetsOf(place Place, a netip.Addr) [][]byte {
	asker := s.opt.Addresses.Asker(a)
	game := place.Game
	if game == "" {
		game = s.live.Load().Game
	}
	if game == allGames {
		list := s.Lister.All(maxAll)
		for i := range list {
			list[i] = asker.Given(list[i])
		}
		return s.appendLists(nil, list, false)
	}
	return s.Lister.Answer(uplink.Wanted{Name: game, Ext: place.Form == quake2.Hexen, Picks: uplink.Picks{Empty: true}}, asker)
}

// appendLists appends the packets of a list. coded ones are HexenWorld's.
func (s *Server) appendLists(packets [][]byte, servers []netip.AddrPort, coded bool) [][]byte {
	form := s.dialect.Form
	if coded {
		form = quake2.Hexen
	}
	return form.AppendLists(packets, servers)
}

func (s *Server) entry(srv *master.Server) (e uplink.Entry, ok bool) {
	if srv.Origin != s.dialect.Origin && srv.QueryProtocol() != s.dialect.Origin.Query || !srv.Public.Addr().Is4() {
		return uplink.Entry{}, false
	}
	return uplink.Entry{Key: uplink.ListKey{Name: s.dialect.ListOf(srv.Game)}, Addr: srv.Public, Empty: srv.Population() == 0}, true
}
