package q3master

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
)

// request answers a request for a list.
func (s *Server) request(w netserve.PacketWriter, p netserve.Packet, rest []byte, ext bool, now time.Time) drop {
	r, err := quake3.ParseRequest(rest, ext)
	if err != nil {
		return dropRequest
	}
	a := p.From.Addr()
	if s.opt.Banned.Has(a) {
		return dropBanned
	}
	if !s.opt.Trusted.Has(a) && !s.live.Load().spend(a, s.opt.Registry.HasAt(a), now) {
		return dropNoBudget
	}
	packets := s.lister.answer(s.wanted(r), s.opt.Addresses.Asker(a))
	for _, b := range packets {
		s.out.Send(w, b, p.To, p.From)
	}
	s.metrics.lists.Inc()
	s.metrics.packets.Add(float64(len(packets)))
	return notDropped
}

// wanted is a request whose game is known.
type wanted struct {
	name     string // of the game; empty: that of the protocol's servers
	protocol int
	ext      bool
	options
}

// options pick servers of a game and protocol.
type options struct {
	empty, full bool   // these too
	typed       bool   // only those of gameType
	gameType    string // at most maxGameType bytes
	only4       bool
	only6       bool
	tagged      bool // only servers that may leave out the name
}

// wanted finds the game of a request.
func (s *Server) wanted(r quake3.Request) wanted {
	index := s.opt.Games.Quake3()
	q := wanted{name: string(r.Game), protocol: r.Protocol, ext: r.Ext}
	if q.name == "" {
		q.name, q.tagged = index.Anonymous(r.Protocol), true
	}
	whole := index.Whole(q.name)
	q.empty, q.full = r.Empty || whole, r.Full || whole
	if r.GameType != nil {
		q.typed, q.gameType = true, string(r.GameType[:min(len(r.GameType), maxGameType+1)])
	}
	q.only4, q.only6 = r.IPv4 && !r.IPv6, r.IPv6 && !r.IPv4
	return q
}
