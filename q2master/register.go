package q2master

import (
	"cmp"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// maxStatus is the length of the longest status that is read, in bytes.
const maxStatus = 8 << 10

// question appends the question for the status. The game of its place is what is known of a
// server that has not answered.
func (s *Server) question(b []byte, _ uplink.Challenge, game string) []byte {
	return s.dialect.of(game).Form.AppendAskStatus(b)
}

// about returns the game of the place at which a listed server reports.
func (s *Server) about(srv *master.Server) string { return s.dialect.of(srv.Game).Game }

// ack answers a server. more is the number of bytes that it gets for the packet besides.
func (s *Server) ack(w netserve.PacketWriter, p netserve.Packet, place Place, more int, now time.Time) uplink.Drop {
	var buf [16]byte
	b := place.Form.AppendAck(buf[:0])
	if !s.MaySend(p.From.Addr(), len(b)+more, len(p.Data), now) {
		return uplink.Limited
	}
	s.Send(w, b, p.To, p.From)
	return uplink.NotDropped
}

// heartbeat asks a server for its status. In Quake 2's form it is acknowledged too.
func (s *Server) heartbeat(w netserve.PacketWriter, p netserve.Packet, status []byte, place Place, now time.Time) uplink.Drop {
	var buf [32]byte
	size := len(place.Form.AppendAskStatus(buf[:0]))
	if place.Form == quake2.Two {
		if _, err := quake2.ParseStatus(status); err != nil {
			return uplink.Malformed
		}
		if dropped := s.ack(w, p, place, size, now); dropped != uplink.NotDropped {
			return dropped
		}
	} else if !s.MaySend(p.From.Addr(), size, len(p.Data), now) {
		return uplink.Limited
	}
	s.Challenge(w, place.Port, p.From, p.To, place.Game, now)
	return uplink.NotDropped
}

// shutdown asks a listed server that says it stops: the packet may be forged, but only a
// server that stopped does not answer.
func (s *Server) shutdown(w netserve.PacketWriter, p netserve.Packet, place Place, now time.Time) uplink.Drop {
	if s.Known(p.From) {
		s.Challenge(w, place.Port, p.From, p.To, place.Game, now)
	}
	return uplink.NotDropped
}

// post takes the answers that come to one of the posts.
type post struct {
	*Server
	number int
}

// ServePacket handles one datagram.
func (d post) ServePacket(_ netserve.PacketWriter, p netserve.Packet) {
	if dropped := d.answered(p, d.number, time.Now()); dropped != uplink.NotDropped {
		d.Dropped(p, dropped)
	}
}

// answered lists a server that has answered at all of its posts.
func (s *Server) answered(p netserve.Packet, number int, now time.Time) uplink.Drop {
	if dropped := uplink.Refuses(p.From, len(p.Data), maxStatus); dropped != uplink.NotDropped {
		return dropped
	}
	st, ok, err := s.dialect.Form.ParseStatus(p.Data)
	switch {
	case !ok:
		return uplink.Foreign
	case err != nil:
		return uplink.Malformed
	}
	v, proved, dropped := s.AnswerAt(number, p.From, now)
	if dropped != uplink.NotDropped || !proved {
		return dropped
	}
	l := uplink.Listing{Names: st.Names, Values: st.Values}
	if l.Game, ok = s.opt.Games.ListedAs(cmp.Or(v.About, s.dialect.Game(&st, p.From.Port())), false); !ok {
		return uplink.UnknownGame
	}
	_, known := s.opt.Games.Lookup(l.Game)
	l.Foreign = !known
	return s.List(v, l)
}
