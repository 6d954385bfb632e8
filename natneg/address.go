package natneg

import (
	"encoding/binary"
	"net/netip"

	"github.com/respawnd/respawnd/internal/meeting"
)

// endpoint is an IPv4 address and port in six bytes; a hundred thousand open
// cookies hold eight of them each.
type endpoint struct {
	ip   [4]byte
	port uint16
}

func endpointOf(a netip.AddrPort) endpoint { return endpoint{a.Addr().As4(), a.Port()} }

func (e endpoint) addrPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(e.ip), e.port)
}

func (e endpoint) known() bool { return e.port != 0 && e.ip != [4]byte{} }

// via is the socket that received a packet, with the local address if the
// system reports it. Answers must leave from there.
type via struct {
	ip     [4]byte
	socket uint16 // with those of other nodes, see socketOf
}

// socketsPerNode is above MaxExtra: sockets of this node have lower numbers.
const socketsPerNode = 512

// socketOf returns the number for a via of a socket of a node, which is 0 for this
// one. One number for both keeps negotiations small.
func socketOf(node, socket uint16) uint16 { return node*socketsPerNode + socket%socketsPerNode }

// node returns the number that nodes gave the node, 0 for this one.
func (v via) node() uint16 { return v.socket / socketsPerNode }

// shared is the address range of carrier NATs, RFC 6598.
var shared = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)

// private reports whether ip is valid only in the client's own network.
func private(ip [4]byte) bool {
	a := netip.AddrFrom4(ip)
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a)
}

func sameNet24(a, b [4]byte) bool { return [3]byte(a[:3]) == [3]byte(b[:3]) }

// kindOfReport translates the NAT type of a report.
func kindOfReport(t byte) meeting.Kind {
	switch t {
	case reportOpen, reportFirewall:
		return meeting.Open
	case reportFullCone, reportRestricted, reportPortRestricted:
		return meeting.Cone
	case reportSymmetric:
		return meeting.Symmetric
	default:
		return meeting.Unknown
	}
}

// maxStep is the largest distance of two ports that counts as a step.
const maxStep = 20

// seen returns the public ports of the negotiation socket, on the address that
// connects go to, towards different addresses of ours, in the order in which the
// client used them.
func (s *side) seen(into *[3]uint16) []uint16 {
	out := into[:0]
	for t := PortNN1; t <= PortNN3; t++ {
		if !s.heardOf(t) || s.at[t].ip != s.ip {
			continue
		}
		again := false
		for before := PortNN1; before < t; before++ {
			again = again || (s.heardOf(before) && s.via[before] == s.via[t])
		}
		if !again {
			out = append(out, s.at[t].port)
		}
	}
	return out
}

// nat returns the kind of the client's NAT according to the inits, or else to the tests
// or the report. A NAT with another port for each partner lets in that partner alone.
func (s *side) nat() meeting.Kind {
	if s.local.known() && s.local.ip == s.ip {
		return meeting.Open
	}
	if s.scattered() {
		return meeting.Symmetric
	}
	var buf [3]uint16
	p := s.seen(&buf)
	if len(p) < 2 {
		return s.tested()
	}
	for _, port := range p[1:] {
		if port != p[0] {
			return meeting.Symmetric
		}
	}
	return meeting.Cone
}

// tested returns the kind of the client's NAT if the inits do not show it.
func (s *side) tested() meeting.Kind {
	switch f := s.tests.filter(); {
	case f == filterLoose:
		return meeting.Cone
	case f == filterStrict && s.reportedNAT == meeting.Unknown:
		return meeting.Strict
	}
	return s.reportedNAT
}

// scattered reports whether the negotiation socket has several public addresses.
func (s *side) scattered() bool {
	for t := PortNN2; t <= PortNN3; t++ {
		if s.heardOf(PortNN1) && s.heardOf(t) && s.at[t].ip != s.at[PortNN1].ip {
			return true
		}
	}
	return false
}

// public returns where the client's game socket is seen, or its negotiation
// socket if the game has none.
func (s *side) public() endpoint {
	if s.gamePort {
		return s.at[PortGame]
	}
	return s.at[PortNN1]
}

// expected returns the address at which the client will be reachable: its
// public address or, behind a NAT that increments ports, the next port.
func (s *side) expected() endpoint {
	at := s.public()
	if at.ip != s.ip {
		return at // the steps are those of another address
	}
	var buf [3]uint16
	preserved := s.local.port != 0 && s.local.port == at.port
	if port, ok := nextPort(s.seen(&buf), preserved); ok {
		at.port = port
	}
	return at
}

// nextPort continues the sequence of ports that a NAT assigned. preserved
// reports that it began with the client's own port; the steps begin after that
// one.
func nextPort(p []uint16, preserved bool) (port uint16, ok bool) {
	if len(p) < 2 {
		return 0, false
	}
	last := int(p[len(p)-1])
	step := last - int(p[len(p)-2])
	steady := step != 0 && -maxStep <= step && step <= maxStep
	if len(p) == 2 {
		if !steady && preserved && step != 0 {
			step, steady = 1, true
		}
	} else {
		steady = steady && (preserved || int(p[1])-int(p[0]) == step)
	}
	next := last + step
	if !steady || next <= 0 || next > 0xFFFF {
		return 0, false
	}
	return uint16(next), true
}

// remote returns the address to give to `to` for its partner p. first reports
// whether the index of `to` is the lower one.
func remote(to, p *side, first bool) endpoint {
	if at := p.public(); to.public().ip != at.ip || private(at.ip) {
		return p.expected()
	}
	// Both are behind one public address.
	here, there := to.local, p.local
	if !here.known() || !there.known() || !private(here.ip) || !private(there.ip) {
		return p.public()
	}
	if here.ip != there.ip && sameNet24(here.ip, there.ip) {
		return there
	}
	// One network with several parts, or a carrier's NAT with a network of its
	// own behind each of two customers: try both ways, one is enough.
	if first {
		return there
	}
	return p.public()
}

// remote is remote with the address that the operator advertises for a partner
// whose own address is not reachable for the client.
func (e *effects) remote(to, p *side, first bool) endpoint {
	at := remote(to, p, first)
	if from := p.public().ip; e.given != nil && at.ip == from && private(from) {
		at.ip = e.given(netip.AddrFrom4(to.public().ip), netip.AddrFrom4(from)).As4()
	}
	return at
}

// usable reports whether an answer may be sent to a: it is an address that a
// client can have.
func usable(a netip.AddrPort) bool {
	ip := a.Addr()
	if !ip.Is4() || a.Port() == 0 || ip.IsMulticast() || ip.IsUnspecified() {
		return false
	}
	octets := ip.As4()
	return binary.BigEndian.Uint32(octets[:]) != 0xFFFFFFFF && octets[0] != 0
}
