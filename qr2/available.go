package qr2

import (
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
)

// available answers the check that games make at their start. The answer is
// never longer than the question.
func (s *Server) available(w netserve.PacketWriter, p netserve.Packet) uplink.Drop {
	name, ok := parseAvailable(p.Data)
	if !ok {
		return uplink.Malformed
	}
	if !s.allow(p.From.Addr(), time.Now()) {
		return uplink.Limited
	}
	s.metrics.received.available.Inc()
	var buf [replyHeader]byte
	s.send(w, p, appendAvailable(buf[:0], s.disabled(name)))
	return uplink.NotDropped
}

func (s *Server) disabled(name []byte) uint32 {
	live := s.live.Load()
	g, known := s.opt.Games.LookupBytes(name)
	if !known { // it may be an alias without a record of its own
		g, known = s.opt.Games.BaseBytes(name)
	}
	if known {
		if bits := g.Availability(live.StrictAvailability); bits != 0 {
			return bits
		}
	}
	switch {
	case !known && live.StrictAvailability:
		return games.Gone
	case live.Maintenance:
		return games.TemporarilyDown
	default:
		return 0
	}
}
