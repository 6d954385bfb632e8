package natneg

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
)

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
	answer := c.Test.AppendTo(r.reply(TypeTest))
	w, from := r.w, r.To
	switch c.PortType {
	case PortNN1:
	case PortNN2:
		return s.farTest(r, answer)
	case PortNN3:
		s.natneg2(r)
		s.mu.Lock()
		w, from = s.sockets.otherPort(r.To)
		s.mu.Unlock()
	default:
		return dropMalformed
	}
	if w == nil {
		return dropUntestable
	}
	s.send.Send(w, answer, from, r.From)
	return notDropped
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
