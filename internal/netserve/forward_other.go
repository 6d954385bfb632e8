//go:build !linux

package netserve

import (
	"context"
	"net/netip"
	"sync"
	"time"
)

// forwarding is the part of a Forwarding that depends on the system: here each socket has
// a goroutine, which begins when both Serve and Connect were called and ends with the
// socket.
type forwarding struct {
	mu      sync.Mutex // guards the fields below
	ctx     context.Context
	waiting []*ForwardPort // connected before Serve
	running sync.WaitGroup
}

// forwardPort is the part of a ForwardPort that depends on the system.
type forwardPort struct{ conn *PacketConn }

func (f *Forwarding) open() error { return nil }

func (f *forwarding) close() error { return nil }

func (f *Forwarding) serve(ctx context.Context) error {
	s := &f.system
	s.mu.Lock()
	s.ctx = ctx
	for _, p := range s.waiting {
		s.running.Go(func() { p.run(ctx) })
	}
	s.waiting = nil
	s.mu.Unlock()
	<-ctx.Done()
	s.running.Wait()
	return nil
}

func (p *ForwardPort) take(conn *PacketConn) error {
	p.system.conn = conn
	return conn.setReadDeadline(time.Time{})
}

func (p *ForwardPort) begin() error {
	s := &p.group.system
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx == nil:
		s.waiting = append(s.waiting, p)
	case s.ctx.Err() == nil:
		s.running.Go(func() { p.run(s.ctx) })
	}
	return nil
}

func (p *ForwardPort) sendOne(data []byte, to netip.AddrPort) {
	_ = p.system.conn.WritePacket(data, netip.Addr{}, to) // an error is counted
}

func (p *ForwardPort) close() error { return p.system.conn.Close() }

// run forwards the datagrams of a socket until it is closed or ctx ends.
func (p *ForwardPort) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = p.system.conn.setReadDeadline(time.Unix(1, 0)) })
	defer stop()
	m := p.group.opt.Metrics
	pause := backoff{free: readErrorsFree, first: readPauseFirst, most: readPauseMost}
	buf := make([]byte, MaxForward+1)
	for {
		n, from, err := p.system.conn.sockets[0].udp.ReadFromUDPAddrPort(buf)
		switch {
		case ctx.Err() != nil || err != nil && !isTransient(err):
			return
		case err != nil:
			m.Drop(dropReadError)
			if !pause.wait(ctx) {
				return
			}
			continue
		}
		pause.reset()
		m.received(1, n)
		if n > MaxForward {
			m.Drop(dropTooLong)
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		to, ok := p.route(Packet{Data: buf[:n], From: from, To: p.local.Addr()})
		if !ok {
			continue
		}
		_ = p.out.system.conn.WritePacket(buf[:n], netip.Addr{}, to) // an error is counted
	}
}
