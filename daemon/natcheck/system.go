package natcheck

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// System opens sockets of this computer.
type System struct {
	// Server is the address towards which the sockets are described; nothing is sent.
	Server netip.AddrPort
}

// maxDatagram is the longest datagram that is read, in bytes; all that matter are
// shorter than a hundred.
const maxDatagram = 2048

// maxFailed is the number of errors of a socket after which it is not read again. Some
// systems report that a datagram was refused.
const maxFailed = 100

type systemSocket struct {
	udp  *net.UDPConn
	addr netip.AddrPort
	read sync.WaitGroup
}

// Open implements Net.
func (s System) Open(ctx context.Context, recv func([]byte, netip.AddrPort)) (Socket, error) {
	var d net.Dialer
	way, err := d.DialContext(ctx, "udp4", s.Server.String())
	if err != nil {
		return nil, err
	}
	here := way.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	_ = way.Close()
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(ctx, "udp4", ":0")
	if err != nil {
		return nil, err
	}
	out := &systemSocket{udp: conn.(*net.UDPConn)}
	out.addr = netip.AddrPortFrom(here, out.udp.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	out.read.Go(func() { out.receive(recv) })
	return out, nil
}

// receive reads until the socket is closed.
func (s *systemSocket) receive(recv func([]byte, netip.AddrPort)) {
	buf, failed := make([]byte, maxDatagram), 0
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			recv(buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		case errors.Is(err, net.ErrClosed):
			return
		default:
			if failed++; failed > maxFailed {
				return // nothing more will arrive
			}
		}
	}
}

// Addr implements Socket.
func (s *systemSocket) Addr() netip.AddrPort { return s.addr }

// Send implements Socket.
func (s *systemSocket) Send(data []byte, to netip.AddrPort) {
	_, _ = s.udp.WriteToUDPAddrPort(data, to) // lost, like any other
}

// Close implements Socket. It waits for the last datagram to be taken.
func (s *systemSocket) Close() {
	_ = s.udp.Close()
	s.read.Wait()
}
