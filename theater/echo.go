package theater

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of datagrams: their sources may be forged.
const (
	maxDatagram  = 512
	maxEchoLines = 32
	maxGrowth    = 64 // bytes that an answer is longer
	echoRate     = 5  // answers per second and address
	echoBurst    = 10
)

// heroes is the mask over the datagrams of Battlefield Heroes.
const heroes = "gameSpy"

// masked returns a datagram with the mask put on or taken off.
func masked(b []byte) []byte {
	b = slices.Clone(b)
	for i := range b {
		b[i] ^= heroes[i%len(heroes)]
	}
	return b
}

// ServePacket implements netserve.PacketHandler.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if why := s.packet(w, p, time.Now()); why != (ended{}) {
		s.opt.Metrics.Drop(why.Error())
	}
}

// packet answers a datagram. It returns why it was dropped, if it was.
func (s *Server) packet(w netserve.PacketWriter, p netserve.Packet, now time.Time) ended {
	data := p.Data
	if len(data) > maxDatagram {
		return droppedForeign
	}
	mask := len(data) > 0 && data[0] == 'E'^heroes[0]
	if mask {
		data = masked(data)
	}
	f, err := wire.ParseFrame(data)
	if err != nil || f.Service != "ECHO" {
		return droppedForeign
	}
	t, err := wire.ParseText(f.Payload, maxEchoLines)
	switch {
	case err != nil:
		return droppedForeign
	case s.opt.Banned.Has(p.From.Addr()):
		return endedBanned
	case !s.echoes.Allow(p.From.Addr(), now):
		return droppedLimited
	}
	s.learn(t.Get("UID"), p.From, now)
	b := answerEcho(t, p.From)
	if len(b) > len(p.Data)+maxGrowth {
		return droppedForeign
	}
	if mask {
		b = masked(b)
	}
	s.metrics.echoes.Inc()
	s.out.Send(w, b, p.To, p.From)
	return ended{}
}

// answerEcho returns the datagram that says where one came from.
func answerEcho(t wire.Text, from netip.AddrPort) []byte {
	answer := lines("TXN", "ECHO", "IP", from.Addr().String(), "PORT", strconv.Itoa(int(from.Port())), "ERR", "0", "TYPE", "1", "TID", t.Get("TID"))
	for _, key := range []string{"UID", "UGID"} {
		if v, ok := t.Look(key); ok {
			answer.Add(key, v)
		}
	}
	f := wire.Frame{Header: wire.Header{Service: "ECHO", Kind: wire.TheaterReply}, Payload: answer.Append(nil, wire.ServerEnd)}
	return f.Append(nil)
}

// learn notes from which port the datagrams of a player come, who is at the same address.
func (s *Server) learn(uid string, from netip.AddrPort, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.players[storage.ProfileID(max(number(uid), 0))]
	if x == nil || x.peer.Addr() != from.Addr() || x.port == from.Port() {
		return
	}
	if x.port = from.Port(); x.hosts != nil {
		s.publish(x.hosts, now)
	}
}
