package netserve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The sockets of a Forwarding are in an epoll instance of its own, and only that
// instance is known to Go's network poller: one wake-up serves all sockets for which
// something came, where a goroutine for each would take a wake-up for each datagram.

// forwardStride is the distance between the buffers of a Forwarding, see bufferStride.
const forwardStride = MaxForward + 64

// maxReady is how many sockets one system call reports.
const maxReady = 256

// forwarding is the part of a Forwarding that depends on the system. All but ports
// belongs to the goroutine of Serve.
type forwarding struct {
	epoll *os.File
	raw   syscall.RawConn
	err   error
	ready [maxReady]unix.EpollEvent

	in     [batchPackets]mmsghdr
	from   [batchPackets]slot
	out    [batchPackets]mmsghdr // of datagrams of in, where they were read to
	to     [batchPackets]sockaddr
	sizes  [batchPackets]int // of out
	buffer [batchPackets * forwardStride]byte

	mu    sync.Mutex // guards the fields below
	ports map[int32]*ForwardPort
	next  int32
}

// forwardPort is the part of a ForwardPort that depends on the system.
type forwardPort struct {
	mu sync.RWMutex // held for reading while fd is used
	fd int          // -1: closed
	id int32        // in forwarding.ports
}

// open makes the epoll instance.
func (f *Forwarding) open() error {
	s := &f.system
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // for Go's poller
	}
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	s.epoll = os.NewFile(uintptr(fd), "epoll")
	if s.raw, err = s.epoll.SyscallConn(); err != nil {
		return errors.Join(fmt.Errorf("epoll: %w", err), s.epoll.Close())
	}
	s.ports = make(map[int32]*ForwardPort)
	for i := range s.in {
		s.from[i].bind(&s.in[i], s.buffer[i*forwardStride:][:MaxForward])
		s.out[i].hdr.SetIovlen(1)
		s.out[i].hdr.Name = &s.to[i][0]
	}
	return nil
}

func (f *forwarding) close() error { return f.epoll.Close() }

// serve waits for sockets with datagrams and forwards these.
func (f *Forwarding) serve(ctx context.Context) error {
	s := &f.system
	stop := context.AfterFunc(ctx, func() { _ = s.epoll.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		err := s.raw.Read(f.round)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			err = s.err
		}
		if err != nil {
			return fmt.Errorf("forward packets: %w", err)
		}
	}
}

// round forwards received datagrams. It returns false to wait for more.
func (f *Forwarding) round(fd uintptr) bool {
	s := &f.system
	n, err := unix.EpollWait(int(fd), s.ready[:], 0)
	switch {
	case errors.Is(err, unix.EINTR):
		return true
	case err != nil:
		s.err = err
		return true
	case n == 0:
		return false
	}
	for _, e := range s.ready[:n] {
		s.mu.Lock()
		p := s.ports[e.Fd] // it holds our number, not a file descriptor
		s.mu.Unlock()
		if p != nil {
			f.forward(p)
		}
	}
	return true
}

// take makes the socket of a PacketConn that of p: Go's poller forgets it.
func (p *ForwardPort) take(conn *PacketConn) error {
	raw, err := conn.sockets[0].udp.SyscallConn()
	if err != nil {
		return err
	}
	if err := controlFD(raw, func(fd uintptr) (err error) {
		for option, value := range map[int]int{unix.IP_TTL: forwardTTL, unix.IP_RECVTTL: 1} {
			if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, option, value); err != nil {
				return err
			}
		}
		p.system.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		return err
	}); err != nil {
		return err
	}
	return conn.Close()
}

// begin adds the socket to the epoll instance.
func (p *ForwardPort) begin() error {
	s := &p.group.system
	s.mu.Lock()
	for p.system.id = s.next + 1; s.ports[p.system.id] != nil; p.system.id++ {
	}
	s.next = p.system.id
	s.ports[p.system.id] = p
	s.mu.Unlock()
	p.system.mu.RLock()
	defer p.system.mu.RUnlock()
	if p.system.fd < 0 {
		return net.ErrClosed
	}
	return controlFD(s.raw, func(epoll uintptr) error {
		return unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, p.system.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: p.system.id})
	})
}

func (p *ForwardPort) sendOne(data []byte, to netip.AddrPort) {
	p.system.mu.RLock()
	defer p.system.mu.RUnlock()
	m := p.group.opt.Metrics
	if p.system.fd < 0 || !to.Addr().Is4() {
		return
	}
	if err := unix.Sendto(p.system.fd, data, unix.MSG_DONTWAIT, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		m.Drop(dropWriteError)
		return
	}
	m.sent(1, len(data))
}

// close closes the socket, which leaves the epoll instance by that.
func (p *ForwardPort) close() error {
	s := &p.group.system
	s.mu.Lock()
	delete(s.ports, p.system.id)
	s.mu.Unlock()
	p.system.mu.Lock()
	defer p.system.mu.Unlock()
	if p.system.fd < 0 {
		return net.ErrClosed
	}
	err := unix.Close(p.system.fd)
	p.system.fd = -1
	return err
}

// forward sends on the datagrams of a socket, at most a batch: the others have their
// turn, and it is reported again.
func (f *Forwarding) forward(p *ForwardPort) {
	s, m := &f.system, f.opt.Metrics
	p.system.mu.RLock()
	defer p.system.mu.RUnlock()
	if p.system.fd < 0 {
		return
	}
	for i := range s.in {
		h := &s.in[i].hdr
		h.Namelen = uint32(len(sockaddr{}))
		h.Control = &s.from[i].oob[0]
		h.SetControllen(controlSpace)
		s.from[i].iov.SetLen(MaxForward)
	}
	n, errno := mmsg(unix.SYS_RECVMMSG, uintptr(p.system.fd), s.in[:])
	if errno != 0 {
		if errno != unix.EAGAIN {
			m.Drop(dropReadError) // of a single datagram; such a socket has no lasting ones
		}
		return
	}
	size, waiting := 0, 0
	for i := range n {
		h := &s.in[i]
		size += int(h.len)
		if h.hdr.Flags&unix.MSG_TRUNC != 0 {
			m.Drop(dropTooLong)
			continue
		}
		if isForwarded(timeToLive(s.from[i].oob[:h.hdr.Controllen])) {
			m.Drop(dropForwarded)
			continue
		}
		data := s.buffer[i*forwardStride:][:h.len]
		to, ok := p.route(Packet{Data: data, From: s.from[i].name.addrPort(), To: p.local.Addr()})
		if !ok {
			continue
		}
		s.from[i].iov.SetLen(len(data))
		s.out[waiting].hdr.Iov = &s.from[i].iov
		s.out[waiting].hdr.Namelen = s.to[waiting].set(to, false)
		s.sizes[waiting] = len(data)
		waiting++
	}
	m.received(n, size)
	p.out.send(waiting)
}

// timeToLive returns the time to live in the control message that came with a datagram, 0
// if there is none.
func timeToLive(oob []byte) int {
	hdr, data, _, err := unix.ParseOneSocketControlMessage(oob)
	if err != nil || hdr.Level != unix.IPPROTO_IP || hdr.Type != unix.IP_TTL || len(data) < 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(data))
}

// send sends the first datagrams of forwarding.out from p. It never waits: a datagram of
// a game that comes late is worth nothing.
func (p *ForwardPort) send(count int) {
	s, m := &p.group.system, p.group.opt.Metrics
	if count == 0 {
		return
	}
	p.system.mu.RLock()
	defer p.system.mu.RUnlock()
	for done := 0; done < count; {
		if p.system.fd < 0 {
			return
		}
		n, errno := mmsg(unix.SYS_SENDMMSG, uintptr(p.system.fd), s.out[done:count])
		switch errno {
		case 0:
			size := 0
			for _, one := range s.sizes[done : done+n] {
				size += one
			}
			m.sent(n, size)
			done += n
		case unix.EAGAIN:
			for ; done < count; done++ {
				m.Drop(dropFull)
			}
		default: // the error is of the first datagram
			m.Drop(dropWriteError)
			done++
		}
	}
}

// isForwarded reports whether a datagram with a time to live comes from a Forwarding.
func isForwarded(ttl int) bool { return forwardTTL-maxHops <= ttl && ttl <= forwardTTL }
