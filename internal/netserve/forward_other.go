//go:build !linux

package netserve

import (
	"net/netip"
	"sync"
)

// passages are buffers that no forwarder uses.
var passages = sync.Pool{New: func() any { return new([MaxForward + 1]byte) }}

// forwarder forwards the datagrams of one socket, one at a time on this system. It
// belongs to one goroutine.
type forwarder struct {
	in, out *socket
	router  safeRouter
	metrics *Metrics
}

func newForwarder(in, out *socket, r safeRouter, m *Metrics) (*forwarder, error) {
	return &forwarder{in, out, r, m}, nil
}

// step forwards one datagram.
func (f *forwarder) step() error {
	buf := passages.Get().(*[MaxForward + 1]byte)
	defer passages.Put(buf)
	n, from, err := f.in.udp.ReadFromUDPAddrPort(buf[:])
	if err != nil {
		return err
	}
	f.metrics.received(1, n)
	if n > MaxForward {
		f.metrics.Drop(dropTooLong)
		return nil
	}
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	to, ok := f.router.Route(Packet{Data: buf[:n], From: from, To: f.in.conn.local.Addr()})
	if !ok {
		return nil
	}
	if _, err := f.out.udp.WriteToUDPAddrPort(buf[:n], to); err != nil {
		f.metrics.Drop(dropWriteError)
		return nil
	}
	f.metrics.sent(1, n)
	return nil
}
