package natneg

import "encoding/binary"

// checkMark stands behind the test in an address check whose sender wants the answer
// to have Abilities too. Games send zeros there.
const checkMark = "respawnd"

// AppendMarkedTo appends the body at its full size, with the mark after which the
// answer has Abilities.
func (c Check) AppendMarkedTo(b []byte) []byte {
	b = append(c.Test.AppendTo(b), checkMark...)
	return append(b, make([]byte, checkBody-longBody-len(checkMark))...)
}

// isMarked reports whether a check has the mark. Its answer is shorter even so.
func isMarked(body []byte) bool {
	return len(body) >= longBody+len(checkMark) && string(body[longBody:longBody+len(checkMark)]) == checkMark
}

// Abilities are the tests that a server can answer honestly. They stand behind an
// AddressReply to a marked check, and distinguish a test that a router kept out from
// one that was never sent.
//
//	offset size
//	     0    2  port of the second socket on the address that was written to; 0: none
//	     2    1  bit 0: test 2 is answered from an address of its own
//	             bit 1: test 3 is answered from another port
type Abilities struct {
	Second      uint16
	FarAddress  bool // NAT test 2
	AnotherPort bool // NAT test 3
}

const abilitiesSize = 3

// ParseAbilities parses the data after an AddressReply; ok is false if there is none: the server is
// another program, or an older one.
func ParseAbilities(body []byte) (a Abilities, ok bool) {
	if len(body) < longBody+abilitiesSize {
		return Abilities{}, false
	}
	tail := body[longBody:]
	return Abilities{binary.BigEndian.Uint16(tail), tail[2]&1 != 0, tail[2]&2 != 0}, true
}

// AppendTo appends the abilities, which stand behind the body of an AddressReply.
func (a Abilities) AppendTo(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, a.Second), boolByte(a.FarAddress)|boolByte(a.AnotherPort)<<1)
}

// abilities returns the tests that are meaningful for the sender of a request.
func (s *Server) abilities(r *request) (a Abilities) {
	node := s.nodes.tester() != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	w, from := s.sockets.otherPort(r.To)
	a.FarAddress, a.AnotherPort = node || s.hasFarAddress(r.To, r.From.Addr()), w != nil
	if w != nil && w == s.sockets.second.w && (from == r.To || !r.To.IsValid()) {
		a.Second = s.sockets.second.addr.Port()
	}
	return a
}
