package netserve

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds of a batch.
const (
	batchPackets = 16   // datagrams read, or sent, with one system call
	batchReply   = 1472 // longest datagram that waits for the end of its batch, in bytes: it fits an Ethernet frame
)

// bufferShift is how much later than its allocation, which is a number of pages, each
// read buffer begins than the one before. It is not a multiple of the page size, so
// that the beginnings of all buffers can be in the processor's cache at once.
const bufferShift = 17 * 64

type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// sockaddr has room for a sockaddr_in and a sockaddr_in6.
//
//	offset  in          in6
//	     0  family(2)   family(2), in the order of the machine
//	     2  port(2)     port(2)
//	     4  address(4)  flow(4)
//	     8  -           address(16)
//	    24  -           scope(4), in the order of the machine
type sockaddr [unix.SizeofSockaddrInet6]byte

// slot is the memory of one datagram that a mmsghdr points to.
type slot struct {
	iov  unix.Iovec
	name sockaddr
	oob  [controlSpace]byte
}

// batch reads datagrams from a socket, many with one system call, and sends the
// short answers in the same way. Sending them together causes far fewer
// wake-ups on both sides. It belongs to one goroutine and is the PacketWriter
// of the handler.
//
// It has a read buffer for one datagram at first, and for twice as many after each
// system call that filled all of them: most sockets never need more than a few, and
// they are the largest part of an idle daemon's memory.
type batch struct {
	sock *socket
	raw  syscall.RawConn
	ipv6 bool // the address family of the socket
	err  error

	read    func(fd uintptr) bool // receive, bound once
	in      [batchPackets]mmsghdr
	inSlots [batchPackets]slot
	buffers [batchPackets][]byte
	slots   int // number of buffers
	got     int // datagrams of the last read

	write    func(fd uintptr) bool // transmit, bound once
	out      [batchPackets]mmsghdr
	outSlots [batchPackets]slot
	replies  [batchPackets][batchReply]byte
	sizes    [batchPackets]int
	waiting  int // filled slots of out
	done     int // number of these that were sent or dropped
}

func newBatch(s *socket) (*batch, error) {
	raw, err := s.udp.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &batch{sock: s, raw: raw}
	b.read, b.write = b.receive, b.transmit
	err = controlFD(raw, func(fd uintptr) error {
		family, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		b.ipv6 = family == unix.AF_INET6
		return err
	})
	for i := range batchPackets {
		b.outSlots[i].bind(&b.out[i], b.replies[i][:])
	}
	b.grow(1)
	return b, err
}

// grow makes the batch read up to n datagrams at a time, n <= batchPackets.
func (b *batch) grow(n int) {
	for i := b.slots; i < n; i++ {
		b.buffers[i] = make([]byte, i*bufferShift+packetBuffer)[i*bufferShift:]
		b.inSlots[i].bind(&b.in[i], b.buffers[i])
	}
	b.slots = n
}

func (s *slot) bind(h *mmsghdr, data []byte) {
	s.iov.Base = &data[0]
	s.iov.SetLen(len(data))
	h.hdr.Iov = &s.iov
	h.hdr.SetIovlen(1)
	h.hdr.Name = &s.name[0]
}

// fill waits for datagrams and returns how many came.
func (b *batch) fill() (int, error) {
	if b.got == b.slots && b.slots < batchPackets {
		b.grow(min(2*b.slots, batchPackets))
	}
	b.got, b.err = 0, nil
	if err := b.raw.Read(b.read); err != nil {
		return 0, err
	}
	return b.got, b.err
}

// receive reads the pending datagrams. It returns false if there are none.
func (b *batch) receive(fd uintptr) bool {
	for i := range b.slots {
		h := &b.in[i].hdr
		h.Namelen = uint32(len(sockaddr{}))
		if b.sock.control != noControl {
			h.Control = &b.inSlots[i].oob[0]
			h.SetControllen(controlSpace)
		}
	}
	n, errno := mmsg(unix.SYS_RECVMMSG, fd, b.in[:b.slots])
	switch errno {
	case 0:
		b.got = n
		size := 0
		for i := range n {
			size += int(b.in[i].len)
		}
		b.sock.conn.metrics.Load().received(n, size)
	case unix.EAGAIN:
		return false
	default:
		b.err = errno
	}
	return true
}

// mmsg runs recvmmsg or sendmmsg on a non-blocking socket. If an error follows
// some datagrams, both return the number of these.
func mmsg(call, fd uintptr, list []mmsghdr) (int, syscall.Errno) {
	for {
		first := unsafe.Pointer(&list[0]) //nolint:gosec // G103: x/sys has no call for this; list is not empty and all that it points to lives in the batch
		n, _, errno := unix.Syscall6(call, fd, uintptr(first), uintptr(len(list)), 0, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// packet returns datagram i of the last fill. Its data is valid until the next.
func (b *batch) packet(i int) Packet {
	h, s := &b.in[i], &b.inSlots[i]
	p := Packet{Data: b.buffers[i][:h.len], From: s.name.addrPort()}
	if b.sock.control != noControl {
		p.To = parseDestination(s.oob[:h.hdr.Controllen])
	} else if local := b.sock.conn.local.Addr(); !local.IsUnspecified() {
		p.To = local
	}
	return p
}

// addrPort returns the address, IPv4 unmapped. A zone is a number.
func (a *sockaddr) addrPort() netip.AddrPort {
	port := binary.BigEndian.Uint16(a[2:])
	switch binary.NativeEndian.Uint16(a[:]) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:8])), port)
	case unix.AF_INET6:
		ip := netip.AddrFrom16([16]byte(a[8:24])).Unmap()
		if scope := binary.NativeEndian.Uint32(a[24:]); scope != 0 {
			ip = ip.WithZone(strconv.FormatUint(uint64(scope), 10))
		}
		return netip.AddrPortFrom(ip, port)
	default:
		return netip.AddrPort{}
	}
}

// set writes an address without a zone and returns its size.
func (a *sockaddr) set(to netip.AddrPort, ipv6 bool) uint32 {
	*a = sockaddr{}
	binary.BigEndian.PutUint16(a[2:], to.Port())
	if !ipv6 {
		binary.NativeEndian.PutUint16(a[:], unix.AF_INET)
		ip := to.Addr().Unmap().As4()
		copy(a[4:], ip[:])
		return unix.SizeofSockaddrInet4
	}
	binary.NativeEndian.PutUint16(a[:], unix.AF_INET6)
	ip := to.Addr().As16()
	copy(a[8:], ip[:])
	return unix.SizeofSockaddrInet6
}

// WritePacket implements PacketWriter for the handler. A short datagram waits
// for the end of the batch.
func (b *batch) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	a := to.Addr()
	if len(data) == 0 || len(data) > batchReply || !a.IsValid() || a.Zone() != "" || (!b.ipv6 && !a.Unmap().Is4()) {
		b.flush() // keeps the order
		return b.sock.WritePacket(data, from, to)
	}
	if b.waiting == batchPackets {
		b.flush()
	}
	i := b.waiting
	h, s := &b.out[i].hdr, &b.outSlots[i]
	b.sizes[i] = copy(b.replies[i][:], data)
	s.iov.SetLen(len(data))
	h.Namelen = s.name.set(to, b.ipv6)
	h.Control = nil
	h.SetControllen(0)
	if b.sock.control != noControl && from.IsValid() {
		if oob := appendSource(s.oob[:0], b.sock.control, from); len(oob) > 0 {
			h.Control = &s.oob[0]
			h.SetControllen(len(oob))
		}
	}
	b.waiting++
	m := b.sock.conn.metrics.Load()
	m.packet(m.watching(), Said, b.sock.conn.local.Port(), to, data)
	return nil
}

// flush sends the waiting datagrams. Those that the system does not accept are
// counted and lost.
func (b *batch) flush() {
	if b.waiting == 0 {
		return
	}
	b.done = 0
	if err := b.raw.Write(b.write); err != nil {
		m := b.sock.conn.metrics.Load()
		for range b.waiting - b.done {
			m.Drop(dropWriteError)
		}
	}
	b.waiting = 0
}

// transmit sends the rest of the batch. It returns false if the send buffer is
// full.
func (b *batch) transmit(fd uintptr) bool {
	m := b.sock.conn.metrics.Load()
	for b.done < b.waiting {
		n, errno := mmsg(unix.SYS_SENDMMSG, fd, b.out[b.done:b.waiting])
		switch errno {
		case 0:
			size := 0
			for _, s := range b.sizes[b.done : b.done+n] {
				size += s
			}
			m.sent(n, size)
			b.done += n
		case unix.EAGAIN:
			return false
		default: // the error is of the first datagram
			m.Drop(dropWriteError)
			b.done++
		}
	}
	return true
}
