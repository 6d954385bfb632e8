package netserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// Defaults and bounds of ListenOptions.
const (
	// DefaultReadBuffer is the requested receive buffer per socket, in bytes.
	// It must hold a burst of packets; system defaults are too small.
	DefaultReadBuffer = 4 << 20
	// DefaultWriteBuffer is the requested send buffer per socket, in bytes.
	DefaultWriteBuffer = 1 << 20
	// MaxSockets is the maximum number of sockets of one PacketConn.
	MaxSockets = 64
)

// ListenOptions control how ListenPackets opens its sockets. The zero value is
// one socket with the default buffers.
type ListenOptions struct {
	// Sockets is the number of sockets that share the address, 1 to MaxSockets;
	// 0 means 1. More than one needs a system that spreads datagrams over them
	// (Linux); elsewhere it is an error. It costs processor time and pays off
	// only if one socket saturates one core.
	Sockets int
	// ReadBuffer and WriteBuffer are the wanted kernel buffer sizes in bytes per
	// socket; 0 means DefaultReadBuffer and DefaultWriteBuffer. The system may
	// grant less without an error: see PacketConn.Buffers.
	ReadBuffer, WriteBuffer int
}

// SocketConfig are the keys in the configuration of a service for its sockets.
type SocketConfig struct {
	// Sockets that share the address, {range}. One is enough for nearly all.
	Sockets int `key:"sockets" default:"1" range:"1 to 64"`
	// Goroutines that read from each socket, {range}.
	Readers int `key:"readers" default:"1" range:"1 to 64"`
	// Kernel receive buffer of each socket, {range}. The system may cap it: on
	// Linux, net.core.rmem_max does.
	ReadBuffer int `key:"read_buffer" default:"4MiB" range:"4KiB to 1GiB"`
}

// ListenOptions returns the options of the sockets.
func (c *SocketConfig) ListenOptions() ListenOptions {
	return ListenOptions{Sockets: c.Sockets, ReadBuffer: c.ReadBuffer}
}

// PacketConn is one or several UDP sockets on one address. It implements
// PacketWriter. All methods may be called concurrently.
type PacketConn struct {
	local   netip.AddrPort
	sockets []*socket
	metrics atomic.Pointer[Metrics] // set by ServePackets; counts all datagrams
}

// ListenPackets opens UDP sockets on address. Network is "udp4" for protocols
// with IPv4 only, else "udp" or "udp6". Port 0 picks a free port, the same for
// all sockets. The caller closes the PacketConn. ctx bounds only the resolution
// of a host name in address.
func ListenPackets(ctx context.Context, network, address string, opt ListenOptions) (*PacketConn, error) {
	count := max(opt.Sockets, 1)
	if count > MaxSockets {
		return nil, fmt.Errorf("listen on %s: %d sockets, at most %d", address, count, MaxSockets)
	}
	lc := net.ListenConfig{}
	if count > 1 {
		lc.Control = sharePort
	}
	pc := &PacketConn{}
	for range count {
		s, err := pc.listen(ctx, &lc, network, address, opt)
		if err != nil {
			_ = pc.Close()
			return nil, err
		}
		pc.sockets = append(pc.sockets, s)
		pc.local = addrPortOf(s.udp.LocalAddr())
		address = s.udp.LocalAddr().String() // with the port that the first one got
	}
	return pc, nil
}

func (c *PacketConn) listen(ctx context.Context, lc *net.ListenConfig, network, address string, opt ListenOptions) (*socket, error) {
	p, err := lc.ListenPacket(ctx, network, address)
	if err != nil {
		return nil, err // names network and address already
	}
	udp, ok := p.(*net.UDPConn)
	if !ok {
		_ = p.Close()
		return nil, fmt.Errorf("listen on %s: network %q is not UDP", address, network)
	}
	// Best effort: Buffers returns the granted sizes.
	_ = udp.SetReadBuffer(orDefault(opt.ReadBuffer, DefaultReadBuffer))
	_ = udp.SetWriteBuffer(orDefault(opt.WriteBuffer, DefaultWriteBuffer))

	s := &socket{udp: udp, conn: c}
	if local := addrPortOf(udp.LocalAddr()).Addr(); local.IsUnspecified() {
		s.control, err = askForDestination(udp, local)
		if err != nil {
			_ = udp.Close()
			return nil, fmt.Errorf("listen on %s: ask for destination addresses: %w", address, err)
		}
	}
	return s, nil
}

// orDefault returns v, or def if v is not positive.
func orDefault[T int | time.Duration](v, def T) T {
	if v > 0 {
		return v
	}
	return def
}

// LocalAddr returns the address that the sockets are bound to.
func (c *PacketConn) LocalAddr() netip.AddrPort { return c.local }

// Buffers returns the kernel buffer sizes in bytes that the system granted to
// each socket; 0 if it does not report them.
func (c *PacketConn) Buffers() (read, write int) {
	raw, err := c.sockets[0].udp.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) { read, write = grantedBuffers(fd) })
	return read, write
}

// Close closes all sockets. ServePackets on them ends with an error that is
// net.ErrClosed unless its context has ended.
func (c *PacketConn) Close() error {
	var errs []error
	for _, s := range c.sockets {
		errs = append(errs, s.udp.Close())
	}
	return errors.Join(errs...)
}

// WritePacket implements PacketWriter.
func (c *PacketConn) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	return c.sockets[0].WritePacket(data, from, to)
}

func (c *PacketConn) setReadDeadline(t time.Time) error {
	var errs []error
	for _, s := range c.sockets {
		errs = append(errs, s.udp.SetReadDeadline(t))
	}
	return errors.Join(errs...)
}

// socket is one UDP socket of a PacketConn.
type socket struct {
	udp     *net.UDPConn
	conn    *PacketConn
	control controlKind // noControl unless bound to a wildcard address
}

// controlKind is the kind of control messages that carry the local address of a
// datagram on a socket.
type controlKind uint8

const (
	noControl controlKind = iota
	control4              // in_pktinfo
	control6              // in6_pktinfo, IPv4 addresses mapped
)

// WritePacket implements PacketWriter.
func (s *socket) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	var err error
	if s.control == noControl || !from.IsValid() {
		_, err = s.udp.WriteToUDPAddrPort(data, to)
	} else {
		var space [controlSpace]byte
		_, _, err = s.udp.WriteMsgUDPAddrPort(data, appendSource(space[:0], s.control, from), to)
	}
	m := s.conn.metrics.Load()
	if err != nil {
		m.Drop(dropWriteError)
		return err
	}
	m.sent(1, len(data))
	m.packet(m.watching(), Said, s.conn.local.Port(), to, data)
	return nil
}

// controlFD runs set on the file descriptor of udp and returns the error of either.
func controlFD(raw syscall.RawConn, set func(fd uintptr) error) error {
	var serr error
	if err := raw.Control(func(fd uintptr) { serr = set(fd) }); err != nil {
		return err
	}
	return serr
}
