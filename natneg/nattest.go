package natneg

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
)

// door is a socket that we send from.
type door struct {
	w    netserve.PacketWriter // nil: there is none
	addr netip.AddrPort        // that it is bound to
}

// doors are all our sockets. They do not change once the server runs.
type doors struct {
	open   []door // the main one, the extra ones
	second door
}

func openDoors(s Sockets) *doors {
	d := &doors{open: []door{{s.Main, s.Main.LocalAddr()}}}
	for _, c := range s.Extra {
		d.open = append(d.open, door{c, c.LocalAddr()})
	}
	if s.Second != nil {
		d.second = door{s.Second, s.Second.LocalAddr()}
	}
	return d
}

// writer returns what sends from a socket, nil if there is none of the number.
func (d *doors) writer(socket uint16) netserve.PacketWriter {
	if int(socket) >= len(d.open) {
		return nil
	}
	return d.open[socket].w
}

// otherPort returns a door on another port of the address that was written to,
// or of the main address, which the client writes to in any case.
func (d *doors) otherPort(to netip.Addr) (w netserve.PacketWriter, from netip.Addr) {
	own := d.second.addr.Addr()
	if d.second.w != nil && (own.IsUnspecified() || own == to) {
		return d.second.w, to
	}
	for _, door := range d.open {
		if door.addr.Addr() == to && door.addr.Port() != d.open[0].addr.Port() {
			return door.w, to
		}
	}
	if d.second.w != nil && own == d.open[0].addr.Addr() {
		return d.second.w, own
	}
	return nil, netip.Addr{}
}

// otherAddress returns a door on an address that the client has not written to:
// neither natneg1, which the request came to, nor natneg2. Those are the first two
// of our addresses.
func (d *doors) otherAddress(to netip.Addr) (w netserve.PacketWriter, from netip.Addr) {
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
	for _, door := range d.open[1:] {
		switch a := door.addr.Addr(); {
		case a == first || a.IsUnspecified():
		case !second.IsValid():
			second = a
		case a != second:
			return door.w, a
		}
	}
	return nil, netip.Addr{}
}

// natTest sends one of the three packets by which a client learns whom its NAT
// lets in.
func (s *Server) natTest(r *request) string {
	c, ok := ParseCheck(r.body)
	switch {
	case !ok:
		return dropMalformed
	case r.Cookie != cookieNATTest:
		return dropUnexpected
	}
	s.metrics.received.natTest.Inc()
	s.mu.Lock()
	d := s.sockets
	s.mu.Unlock()

	w, from := r.w, r.To
	switch c.PortType {
	case PortNN1:
	case PortNN2:
		if w, from = d.otherAddress(r.To); w == nil && s.policy.Load().AssumeUnrestricted {
			w, from = r.w, r.To
		}
	case PortNN3:
		w, from = d.otherPort(r.To)
	case PortGame:
		return dropMalformed
	default:
		return dropMalformed
	}
	if w == nil {
		return dropUntestable
	}
	s.write(w, from, r.From, c.Test.AppendTo(r.reply(TypeTest)))
	return ""
}

// addressCheck tells a client the address that we see.
func (s *Server) addressCheck(r *request) string {
	c, ok := ParseCheck(r.body)
	switch {
	case !ok:
		return dropMalformed
	case r.Cookie > maxCookieAddress:
		return dropUnexpected
	}
	s.metrics.received.addressCheck.Inc()
	reply := AddressReply{c.PortType, c.Data[0], c.Data[1], r.From}
	s.answer(r, reply.AppendTo(r.reply(TypeAddressReply)))
	return ""
}
