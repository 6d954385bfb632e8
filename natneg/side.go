package natneg

import (
	"math/bits"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
)

// maxIndexes is the maximum number of clients with one cookie; their indexes
// are 0 to 7. Each is introduced to each of the others.
const maxIndexes = 8

// indexes is a set of clients of a negotiation, one bit for each index.
type indexes uint8

func (x indexes) has(i int) bool { return x&(1<<i) != 0 }
func (x *indexes) add(i int)     { *x |= 1 << i }
func (x *indexes) drop(i int)    { *x &^= 1 << i }
func (x indexes) count() int     { return bits.OnesCount8(uint8(x)) }

// after returns the first member after i, or the first of all. x is not empty.
func (x indexes) after(i int) int {
	return (i + 1 + bits.TrailingZeros8(bits.RotateLeft8(uint8(x), -(i+1)))) % maxIndexes
}

// The part of a report that concerns a side.
const (
	reportNone = iota
	reportFailure
	reportSuccess
)

// side is one of the clients of a negotiation.
type side struct {
	// ip is the public address that the connects go to: that of the init of port
	// type 1, or of the first init until that one comes. It outlives a round.
	ip       [4]byte
	name     uint64 // keyed hash of the game name as it was sent
	local    endpoint
	at       [portTypes]endpoint // public addresses; zero: not received in this round
	via      [portTypes]via
	version  byte
	gamePort bool

	packets  uint8 // that came from ip, at most 255
	connects uint8 // that were sent to ip, in all rounds, and the tests before its proof
	tries    uint8 // connects since it was last introduced
	tests    routerTests

	met       indexes // partners it is introduced to in this round
	confirmed indexes // partners whose connect it confirmed
	telling   uint8   // the partner in its latest connect

	report      uint8
	reportedNAT meeting.Kind

	first, last time.Duration // inits of this round
	metAt       time.Duration // when it was last introduced
	next        time.Duration // when the next connect is due
	confirmedAt time.Duration // the latest receipt of a new connect
}

// claimed reports whether a client has taken this place.
func (s *side) claimed() bool { return s.ip != [4]byte{} }

// owns reports whether ip is one of the client's public addresses.
func (s *side) owns(ip [4]byte) bool {
	if s.ip == ip {
		return true
	}
	for _, a := range s.at {
		if a.port != 0 && a.ip == ip {
			return true
		}
	}
	return false
}

// heardOf reports whether an init of the port type has come in this round.
func (s *side) heardOf(t PortType) bool { return s.at[t].port != 0 }

// present reports whether the client has sent a packet in this round.
func (s *side) present() bool { return s.at != [portTypes]endpoint{} }

// needed reports whether the inits that a connect needs have come.
func (s *side) needed() bool {
	return s.heardOf(PortNN1) && (!s.gamePort || s.heardOf(PortGame))
}

// complete reports whether every init of the client's version has come.
func (s *side) complete() bool {
	return s.needed() && (s.version < 2 || s.heardOf(PortNN2)) && (s.version < 3 || s.heardOf(PortNN3))
}

// ready reports whether the client can be introduced.
func (s *side) ready(now time.Duration) bool {
	return s.needed() && now >= s.readyAt()
}

// readyAt returns the time from which a client with the needed inits is ready.
func (s *side) readyAt() time.Duration {
	if s.complete() {
		return s.first
	}
	return s.first + completeWait
}

// waits reports whether a connect to the client is not confirmed yet.
func (s *side) waits() bool { return s.met&^s.confirmed != 0 }

// negotiating is the address that connects go to and that receipts and reports
// come from.
func (s *side) negotiating() endpoint { return s.at[PortNN1] }

// mayConnect reports whether the bounds allow another connect to one client.
func (s *side) mayConnect() bool {
	most := maxConnects * max(1, s.met.count())
	if !s.tests.proved() {
		most = min(most, connectsPerPacket*int(s.packets))
	}
	return s.heardOf(PortNN1) && int(s.connects) < most
}

func (s *side) heard() { s.packets = max(s.packets, s.packets+1) }

// again forgets a round. The claim to the place, the game and the bounds
// stay.
func (s *side) again() {
	*s = side{ip: s.ip, name: s.name, packets: s.packets, connects: s.connects}
}

// uses reports whether the client has been seen at the address.
func (s *side) uses(from endpoint) bool {
	for _, a := range s.at {
		if a == from {
			return true
		}
	}
	return false
}

// take stores an init from one of the client's addresses. It returns false for
// an init that would replace one of another address: only those from ip may, until the
// client is introduced.
func (s *side) take(now time.Duration, c *call) bool {
	t, from := c.in.PortType, c.from
	if s.heardOf(t) && s.at[t].ip != from.ip && (s.ip != from.ip || s.met != 0) {
		return false
	}
	switch {
	case !s.claimed():
		s.ip = from.ip
	case t == PortNN1 && s.ip != from.ip: // the connects go there from now on
		s.ip, s.packets, s.connects, s.tests = from.ip, 0, 0, routerTests{}
	}
	if !s.present() {
		s.first = now
	}
	if t == PortNN1 && s.heardOf(t) && s.at[t] != from {
		// Another socket: the ports of the old one prove nothing about the NAT.
		s.at[PortNN2], s.at[PortNN3] = endpoint{}, endpoint{}
		s.first, s.tests = now, routerTests{}
	}
	if s.ip == from.ip {
		s.heard()
	}
	s.last = now
	s.name, s.version, s.gamePort = c.name, c.version, c.in.GamePort
	s.at[t], s.via[t] = from, c.via
	if c.in.Local.Addr().Is4() {
		local := endpointOf(c.in.Local)
		s.local.ip = local.ip
		if local.port != 0 { // only the later port types contain it
			s.local.port = local.port
		}
	}
	return true
}

// meet introduces the client to a partner: connects are due from now on.
func (s *side) meet(now time.Duration, partner int) {
	s.met.add(partner)
	s.tries, s.metAt, s.next = 0, now, now
}

// confirm takes the receipt of the latest connect.
func (s *side) confirm(now time.Duration) {
	if s.confirmed.has(int(s.telling)) || !s.met.has(int(s.telling)) {
		return
	}
	s.confirmed.add(int(s.telling))
	s.confirmedAt = now
	if s.waits() {
		s.next = now
	}
}
