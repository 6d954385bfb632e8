package netserve

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardStride is the distance between the buffers of a passage, see bufferStride.
const forwardStride = MaxForward + 64

// passage is the memory in which datagrams are forwarded, those of one system call.
// They are sent from where they were read to.
type passage struct {
	in     [batchPackets]mmsghdr
	from   [batchPackets]slot
	out    [batchPackets]mmsghdr
	to     [batchPackets]sockaddr
	sizes  [batchPackets]int // of out
	buffer [batchPackets * forwardStride]byte
}

// passages are those that no forwarder uses: one needs one only while datagrams come.
var passages = sync.Pool{New: func() any {
	p := new(passage)
	for i := range p.in {
		p.from[i].bind(&p.in[i], p.buffer[i*forwardStride:][:MaxForward])
		p.out[i].hdr.Iov = &p.from[i].iov
		p.out[i].hdr.SetIovlen(1)
		p.out[i].hdr.Name = &p.to[i][0]
	}
	return p
}}

// forwarder forwards the datagrams of one socket. It belongs to one goroutine.
type forwarder struct {
	in, out *socket
	ipv6    bool // the address family of out
	router  safeRouter
	metrics *Metrics

	rawIn, rawOut syscall.RawConn
	read, write   func(fd uintptr) bool // receive and transmit, bound once
	err           error                 // of receive
	now           *passage              // in use
	waiting, done int                   // datagrams of now.out, and those that were sent or dropped
}

func newForwarder(in, out *socket, r safeRouter, m *Metrics) (*forwarder, error) {
	f := &forwarder{in: in, out: out, router: r, metrics: m}
	f.read, f.write = f.receive, f.transmit
	var err error
	if f.rawIn, err = in.udp.SyscallConn(); err != nil {
		return nil, err
	}
	if f.rawOut, err = out.udp.SyscallConn(); err != nil {
		return nil, err
	}
	return f, controlFD(f.rawOut, func(fd uintptr) error {
		family, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		f.ipv6 = family == unix.AF_INET6
		return err
	})
}

// step forwards datagrams until there are so many that it is time to look for the end,
// or an error.
func (f *forwarder) step() error {
	f.err = nil
	if err := f.rawIn.Read(f.read); err != nil {
		return err
	}
	return f.err
}

// receive forwards what there is. It returns false to wait for more: fewer datagrams
// than there is room for are all that there were, which saves the call that would
// report so.
func (f *forwarder) receive(fd uintptr) bool {
	p := passages.Get().(*passage)
	defer passages.Put(p)
	for i := range p.in {
		p.in[i].hdr.Namelen = uint32(len(sockaddr{}))
		p.from[i].iov.SetLen(MaxForward)
	}
	n, errno := mmsg(unix.SYS_RECVMMSG, fd, p.in[:])
	switch errno {
	case 0:
		f.forward(p, n)
		return n == len(p.in)
	case unix.EAGAIN:
		return false
	default:
		f.err = errno
		return true
	}
}

// forward sends n datagrams on.
func (f *forwarder) forward(p *passage, n int) {
	size := 0
	f.now, f.waiting, f.done = p, 0, 0
	for i := range n {
		h := &p.in[i]
		size += int(h.len)
		if h.hdr.Flags&unix.MSG_TRUNC != 0 {
			f.metrics.Drop(dropTooLong)
			continue
		}
		data := p.buffer[i*forwardStride:][:h.len]
		to, ok := f.router.Route(Packet{Data: data, From: p.from[i].name.addrPort(), To: f.in.conn.local.Addr()})
		if !ok {
			continue
		}
		p.from[i].iov.SetLen(len(data))
		k := f.waiting
		p.out[k].hdr.Iov = &p.from[i].iov
		p.out[k].hdr.Namelen = p.to[k].set(to, f.ipv6)
		p.sizes[k] = len(data)
		f.waiting++
	}
	f.metrics.received(n, size)
	if f.waiting == 0 {
		return
	}
	if err := f.rawOut.Write(f.write); err != nil {
		f.drop(dropWriteError)
	}
}

// transmit sends what is waiting. It never waits: a datagram of a game that comes late
// is worth nothing.
func (f *forwarder) transmit(fd uintptr) bool {
	for f.done < f.waiting {
		n, errno := mmsg(unix.SYS_SENDMMSG, fd, f.now.out[f.done:f.waiting])
		switch errno {
		case 0:
			size := 0
			for _, s := range f.now.sizes[f.done : f.done+n] {
				size += s
			}
			f.metrics.sent(n, size)
			f.done += n
		case unix.EAGAIN:
			f.drop(dropFull)
		default: // the error is of the first datagram
			f.metrics.Drop(dropWriteError)
			f.done++
		}
	}
	return true
}

// drop drops the rest of what is waiting.
func (f *forwarder) drop(why string) {
	for ; f.done < f.waiting; f.done++ {
		f.metrics.Drop(why)
	}
}
