package natneg

import (
	"context"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
)

// DefaultOptions returns Options with the defaults of the configuration and without
// a bound per second.
func DefaultOptions() (o Options) {
	configs.Defaults(&o.Config)
	o.Rate = 0
	return o
}

// options returns DefaultOptions after a change.
func options(change func(*Options)) Options {
	o := DefaultOptions()
	change(&o)
	return o
}

// Attach gives a Server sockets of a test, without Serve. The second address is
// that of the second socket; an invalid one: none.
func (s *Server) Attach(open []netserve.PacketWriter, at []netip.AddrPort, second netserve.PacketWriter, secondAt netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = &openSockets{}
	for i, w := range open {
		s.sockets.open = append(s.sockets.open, openSocket{w, at[i]})
	}
	if secondAt.IsValid() {
		s.sockets.second = openSocket{second, secondAt}
	}
}

// Deliver hands a packet to a Server as one of its sockets does.
func (s *Server) Deliver(socket uint16, w netserve.PacketWriter, p netserve.Packet) drop {
	return s.handle(socket, w, p)
}

// DeliverSecond hands a packet to a Server as its second socket does.
func (s *Server) DeliverSecond(w netserve.PacketWriter, p netserve.Packet) {
	secondHandler{s}.ServePacket(w, p)
}

// Tick has a Server do its due work.
func (s *Server) Tick() { e := s.newEffects(); s.advance(time.Now(), &e) }

// Open returns the number of open cookies.
func (s *Server) Open() int { return s.open() }

// WheelStep is the time between two ticks.
const WheelStep = wheelStep

// Join runs the connection of a Server to the other nodes of its cluster until ctx
// ends, as Serve does.
func (s *Server) Join(ctx context.Context) { s.nodes.run(ctx) }

// OwnerOf returns the node that a cookie belongs to.
func (s *Server) OwnerOf(cookie uint32) string { return s.nodes.owner(cookie) }

// OpenRelays opens relays for pairs until ctx ends, as Serve does.
func (s *Server) OpenRelays(ctx context.Context) { s.wishes.serve(ctx) }
