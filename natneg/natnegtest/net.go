// Package natnegtest helps to test NAT negotiation from end to end: networks,
// the NATs that players sit behind, and players that negotiate as games do.
//
// It is for tests only, and not an implementation of a NAT or of a client for
// other uses: nothing in it expires, and it trusts all packets.
package natnegtest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Receiver takes a datagram. It must not keep data and must not block, and it may
// be called concurrently.
type Receiver func(data []byte, from netip.AddrPort)

// Net is a network on which sockets can be opened.
type Net interface {
	// Open opens a socket; port 0 is any free one.
	Open(at netip.AddrPort, recv Receiver) (Socket, error)
}

// Socket is an open socket. Its methods may be called concurrently.
type Socket interface {
	Addr() netip.AddrPort
	// Send sends a datagram. Like the network, it does not report whether it
	// arrives.
	Send(data []byte, to netip.AddrPort)
	Close()
}

// System is the real network of this machine.
type System struct{}

type systemSocket struct {
	udp  *net.UDPConn
	addr netip.AddrPort
	read sync.WaitGroup
}

// Open implements Net.
func (System) Open(at netip.AddrPort, recv Receiver) (Socket, error) {
	p, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp4", at.String())
	if err != nil {
		return nil, err
	}
	udp, ok := p.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("open %s: not a UDP socket", at)
	}
	s := &systemSocket{udp: udp}
	bound, err := netip.ParseAddrPort(udp.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	s.addr = bound
	s.read.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := udp.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			recv(buf[:n], netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	})
	return s, nil
}

// Addr implements Socket.
func (s *systemSocket) Addr() netip.AddrPort { return s.addr }

// Send implements Socket.
func (s *systemSocket) Send(data []byte, to netip.AddrPort) {
	_, _ = s.udp.WriteToUDPAddrPort(data, to) // a lost datagram, like any other
}

// Close implements Socket. It waits for the last datagram to be taken.
func (s *systemSocket) Close() {
	_ = s.udp.Close()
	s.read.Wait()
}

// Memory is a network without a machine, made for testing/synctest: a datagram
// takes Delay. The zero value works.
type Memory struct {
	Delay time.Duration
	// Detour returns how much longer a datagram takes; nil: none does.
	Detour func(from, to netip.Addr) time.Duration
	// Lost reports whether a datagram is lost; nil: none is. It is called for one
	// datagram at a time.
	Lost func(from, to netip.AddrPort, data []byte) bool

	mu      sync.Mutex
	sockets map[netip.AddrPort]*memorySocket
	next    uint16
	sent    time.Duration // a nanosecond for each datagram
}

// order returns a moment by which datagrams that are sent at one time arrive in that order.
func (m *Memory) order() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent++
	return m.sent
}

type memorySocket struct {
	net  *Memory
	addr netip.AddrPort
	recv Receiver
}

// firstPort is the first of the free ports of a Memory.
const firstPort = 40000

// Open implements Net.
func (m *Memory) Open(at netip.AddrPort, recv Receiver) (Socket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sockets == nil {
		m.sockets, m.next = make(map[netip.AddrPort]*memorySocket), firstPort
	}
	for at.Port() == 0 || (m.sockets[at] != nil && at.Port() == m.next-1) {
		at = netip.AddrPortFrom(at.Addr(), m.next)
		m.next++
	}
	if m.sockets[at] != nil {
		return nil, fmt.Errorf("open %s: in use", at)
	}
	s := &memorySocket{m, at, recv}
	m.sockets[at] = s
	return s, nil
}

// Addr implements Socket.
func (s *memorySocket) Addr() netip.AddrPort { return s.addr }

// Send implements Socket.
func (s *memorySocket) Send(data []byte, to netip.AddrPort) {
	m := s.net
	m.mu.Lock()
	lost := m.Lost != nil && m.Lost(s.addr, to, data)
	m.mu.Unlock()
	if lost {
		return
	}
	data = append([]byte(nil), data...)
	delay := m.Delay + m.order()
	if m.Detour != nil {
		delay += m.Detour(s.addr.Addr(), to.Addr())
	}
	time.AfterFunc(delay, func() {
		m.mu.Lock()
		there := m.sockets[to]
		m.mu.Unlock()
		if there != nil {
			there.recv(data, s.addr)
		}
	})
}

// Close implements Socket.
func (s *memorySocket) Close() {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	delete(s.net.sockets, s.addr)
}
