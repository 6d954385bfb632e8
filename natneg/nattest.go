package natneg

import (
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netserve"
)

// openSocket is a socket that we send from.
type openSocket struct {
	w    netserve.PacketWriter // nil: there is none
	addr netip.AddrPort        // that it is bound to
}

// openSockets are all our sockets. They do not change once the server runs.
type openSockets struct {
	open   []openSocket // the main one, the extra ones
	second openSocket
}

func newOpenSockets(s Sockets) *openSockets {
	d := &openSockets{open: []openSocket{{s.Main, s.Main.LocalAddr()}}}
	for _, c := range s.Extra {
		d.open = append(d.open, openSocket{c, c.LocalAddr()})
	}
	if s.Second != nil {
		d.second = openSocket{s.Second, s.Second.LocalAddr()}
	}
	return d
}

// writer returns the PacketWriter of a socket, nil if there is none with the
// number.
func (d *openSockets) writer(socket uint16) netserve.PacketWriter {
	switch {
	case socket == secondSocket:
		return d.second.w
	case int(socket) >= len(d.open):
		return nil
	}
	return d.open[socket].w
}

// sender returns the address of this machine to send from on a socket. The second one may be
// on another address than the socket that the client knows.
func (d *openSockets) sender(socket uint16, ip [4]byte) netip.Addr {
	if own := d.second.addr.Addr(); socket == secondSocket && !own.IsUnspecified() {
		return own
	}
	return localAddr(ip)
}

// otherPort returns a openSocket on another port of the address that was written to,
// or of the main address, which the client writes to in any case.
func (d *openSockets) otherPort(to netip.Addr) (w netserve.PacketWriter, from netip.Addr) {
	own := d.second.addr.Addr()
	if d.second.w != nil && (own.IsUnspecified() || own == to) {
		return d.second.w, to
	}
	for _, openSocket := range d.open {
		if openSocket.addr.Addr() == to && openSocket.addr.Port() != d.open[0].addr.Port() {
			return openSocket.w, to
		}
	}
	if d.second.w != nil && own == d.open[0].addr.Addr() {
		return d.second.w, own
	}
	return nil, netip.Addr{}
}

// otherAddress returns a openSocket on an address that the client has not written to:
// neither natneg1, which the request came to, nor natneg2. Those are the first two
// of our addresses.
func (d *openSockets) otherAddress(to netip.Addr) (w netserve.PacketWriter, from netip.Addr) {
	if len(d.open) == 0 || !to.IsValid() {
		return nil, netip.Addr{}
	}
	first := d.open[0].addr.Addr()
	if first.IsUnspecified() {
		first = to
	}
	if first != to {
		return nil, netip.Addr{} // it takes another one for natneg1
	}
	var second netip.Addr
	for _, openSocket := range d.open[1:] {
		switch a := openSocket.addr.Addr(); {
		case a == first || a.IsUnspecified():
		case !second.IsValid():
			second = a
		case a != second:
			return openSocket.w, a
		}
	}
	return nil, netip.Addr{}
}

// otherOf returns an address of this machine for the answer to a client that
// wrote to the address to, and to natneg2 if that is valid; it is for a main
// socket on all addresses. The last one counts as natneg3. ok is false if there
// is none that the client has not written to and will see as it is.
func otherOf(machine []netip.Addr, to, natneg2, client netip.Addr) (from netip.Addr, ok bool) {
	if !to.Is4() {
		return netip.Addr{}, false // the system does not report it
	}
	for _, a := range slices.Backward(machine) {
		if a != to && a != natneg2 && a.Is4() && seenAsItIs(a, to, client) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// seenAsItIs reports whether a client that reaches us at the address to will see
// another address of ours as that one. A private address is replaced on the way to
// a public client, perhaps by the one that it knows.
func seenAsItIs(other, to, client netip.Addr) bool {
	switch {
	case client.IsLoopback():
		return true
	case other.IsLoopback():
		return false
	case private(to.As4()):
		return private(other.As4()) && private(client.As4())
	default:
		return !private(other.As4())
	}
}

// natTest sends one of the three packets by which a client learns which senders
// its NAT lets in.
func (s *Server) natTest(r *request) drop {
	c, ok := ParseCheck(r.body)
	switch {
	case !ok:
		return dropMalformed
	case r.Cookie != cookieNATTest:
		return dropUnexpected
	}
	s.metrics.received.natTest.Inc()
	w, from := s.tester(r, c.PortType)
	switch {
	case c.PortType == PortGame || c.PortType >= portTypes:
		return dropMalformed
	case w == nil:
		return dropUntestable
	}
	s.send.Send(w, c.Test.AppendTo(r.reply(TypeTest)), from, r.From)
	return notDropped
}

// tester returns the socket and the address that a NAT test is answered from; w is
// nil if there is none.
func (s *Server) tester(r *request, t PortType) (w netserve.PacketWriter, from netip.Addr) {
	switch t {
	case PortNN1:
		return r.w, r.To
	case PortNN2:
		if w, from = s.farTester(r); w == nil && s.live.Load().AssumeUnrestricted {
			return r.w, r.To
		}
		return w, from
	case PortNN3:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.testedAt = r.To
		return s.sockets.otherPort(r.To)
	case PortGame:
	}
	return nil, netip.Addr{}
}

// farTester returns the socket and an address that the client has not written to, for
// NAT test 2; w is nil if there is none.
func (s *Server) farTester(r *request) (w netserve.PacketWriter, from netip.Addr) {
	s.mu.Lock()
	d, machine, natneg2 := s.sockets, s.machine, s.testedAt
	s.mu.Unlock()
	if s.nodes != nil {
		if w := s.nodes.tester(); w != nil {
			return w, netip.Addr{}
		}
	}
	if w, from = d.otherAddress(r.To); w != nil {
		return w, from
	}
	if from, ok := otherOf(machine, r.To, natneg2, r.From.Addr()); ok {
		return r.w, from
	}
	return nil, netip.Addr{}
}

// addressCheck sends a client its address as seen here.
func (s *Server) addressCheck(r *request) drop {
	c, ok := ParseCheck(r.body)
	switch {
	case !ok:
		return dropMalformed
	case r.Cookie > maxCookieAddress:
		return dropUnexpected
	}
	s.metrics.received.addressCheck.Inc()
	reply := AddressReply{c.PortType, c.Data[0], c.Data[1], r.From}
	b := reply.AppendTo(r.reply(TypeAddressReply))
	if isMarked(r.body) {
		b = s.abilities(r).AppendTo(b)
	}
	s.answer(r, b)
	return notDropped
}
