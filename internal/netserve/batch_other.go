//go:build !linux

package netserve

import "net/netip"

// batch reads datagrams from a socket, one at a time on this system, and sends
// the answers to them at once. It belongs to one goroutine and is the
// PacketWriter of the handler.
type batch struct {
	sock     *socket
	buf, oob []byte
	last     Packet
}

func newBatch(s *socket) (*batch, error) {
	return &batch{sock: s, buf: make([]byte, packetBuffer), oob: make([]byte, controlSpace)}, nil
}

// fill waits for a datagram and returns how many came.
func (b *batch) fill() (int, error) {
	n, from, to, err := b.sock.read(b.buf, b.oob)
	if err != nil {
		return 0, err
	}
	b.sock.conn.metrics.Load().received(1, n)
	b.last = Packet{Data: b.buf[:n], From: from, To: to}
	return 1, nil
}

// packet returns the datagram. Its data is valid until the next fill.
func (b *batch) packet(int) Packet { return b.last }

// WritePacket implements PacketWriter for the handler.
func (b *batch) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	return b.sock.WritePacket(data, from, to)
}

// flush does nothing: no datagram waits.
func (b *batch) flush() {}

// read reads one datagram into buf; oob is space for control messages. On a
// socket bound to one address, to is that address.
func (s *socket) read(buf, oob []byte) (n int, from netip.AddrPort, to netip.Addr, err error) {
	if s.control == noControl {
		n, from, err = s.udp.ReadFromUDPAddrPort(buf)
		if local := s.conn.local.Addr(); !local.IsUnspecified() {
			to = local
		}
	} else {
		var oobn int
		n, oobn, _, from, err = s.udp.ReadMsgUDPAddrPort(buf, oob)
		to = parseDestination(oob[:oobn])
	}
	return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), to, err
}
