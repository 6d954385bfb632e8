// Package netclient is the client's side of sockets: datagrams to one server, and
// connections that speak backslash text or lines. The clients of the protocol
// packages are built on it, which the self-test, the load tool and the tests use.
//
// The context of each call bounds its waits: reading ends at the deadline of the
// context, or as soon as the context is cancelled. A context without a deadline and
// without cancellation costs nothing and waits for ever. The package starts no
// goroutine and repeats nothing that is lost.
package netclient

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// MaxPacket is the length of the longest datagram that is read whole, in bytes.
const MaxPacket = 1 << 16

// ErrTooLong reports a list that is longer than a client was to read. Its beginning is
// returned with it.
var ErrTooLong = errors.New("the list is too long to be read")

// Packets is a UDP socket of a client. It is used by one goroutine at a time, but
// Send, SendTo and Close may be called while another receives.
type Packets struct {
	conn      *net.UDPConn
	to        netip.AddrPort
	connected bool
	in        []byte
}

// New returns a client of the server at an address. It takes ownership of conn,
// which may be connected to the server; if not, packets from other addresses
// arrive too. in is the length of the longest packet that is read, in bytes; 0:
// MaxPacket.
func New(conn *net.UDPConn, server netip.AddrPort, in int) *Packets {
	if in == 0 {
		in = MaxPacket
	}
	return &Packets{conn: conn, to: server, connected: conn.RemoteAddr() != nil, in: make([]byte, in)}
}

// Dial connects a socket to a server, host:port. It reads packets of up to
// MaxPacket bytes.
func Dial(ctx context.Context, server string) (*Packets, error) {
	conn, err := Connect(ctx, "udp4", server)
	if err != nil {
		return nil, err
	}
	udp := conn.(*net.UDPConn)
	return New(udp, unmap(udp.RemoteAddr().(*net.UDPAddr).AddrPort()), 0), nil
}

// Listen opens an unconnected socket on any port, like that of a game server
// that other hosts query too.
func Listen(ctx context.Context, server string) (*Packets, error) {
	to, err := net.ResolveUDPAddr("udp4", server)
	if err != nil {
		return nil, err
	}
	at := ":0"
	if a := origin(ctx); a.IsValid() {
		at = netip.AddrPortFrom(a, 0).String()
	}
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(ctx, "udp4", at)
	if err != nil {
		return nil, err
	}
	return New(conn.(*net.UDPConn), unmap(to.AddrPort()), 0), nil
}

// Local returns the address of the socket.
func (p *Packets) Local() netip.AddrPort { return unmap(p.conn.LocalAddr().(*net.UDPAddr).AddrPort()) }

// Server returns the address of the server.
func (p *Packets) Server() netip.AddrPort { return p.to }

// SetServer sends further packets to another address. The socket must not be
// connected.
func (p *Packets) SetServer(to netip.AddrPort) { p.to = to }

// Send sends a packet to the server.
func (p *Packets) Send(b []byte) error {
	if !p.connected {
		return p.SendTo(b, p.to)
	}
	_, err := p.conn.Write(b)
	return err
}

// SendTo sends a packet to an address. The socket must not be connected.
func (p *Packets) SendTo(b []byte, to netip.AddrPort) error {
	_, err := p.conn.WriteToUDPAddrPort(b, to)
	return err
}

// Answer sends a packet to the address that one came from.
func (p *Packets) Answer(b []byte, from netip.AddrPort) error {
	if p.connected {
		return p.Send(b)
	}
	return p.SendTo(b, from)
}

// Await reads packets until accept returns true or an error. A packet is valid
// until accept returns, the last one until the next call.
func (p *Packets) Await(ctx context.Context, accept func(b []byte, from netip.AddrPort) (done bool, err error)) error {
	release, err := bound(ctx, p.conn, false)
	if err != nil {
		return err
	}
	defer release()
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(p.in)
		if err != nil {
			return err
		}
		if done, err := accept(p.in[:n], unmap(from)); done || err != nil {
			return err
		}
	}
}

// Serve calls take with each packet that arrives, until the socket is closed.
// Errors of single packets, such as an ICMP error, are ignored, and an answer
// that cannot be sent counts as lost.
func (p *Packets) Serve(take func(b []byte, from netip.AddrPort)) {
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(p.in)
		if isClosed(err) {
			return
		}
		if err == nil {
			take(p.in[:n], unmap(from))
		}
	}
}

// Close closes the socket.
func (p *Packets) Close() error { return p.conn.Close() }

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

var past = time.Unix(1, 0)

// bound makes a context end the reads of a connection, and its writes too if
// both is set. release must be called after the wait.
func bound(ctx context.Context, conn net.Conn, both bool) (release func(), err error) {
	end, _ := ctx.Deadline() // the zero time is no deadline
	if both {
		err = conn.SetDeadline(end)
	} else {
		err = conn.SetReadDeadline(end)
	}
	if err != nil {
		return nil, err
	}
	if ctx.Done() == nil {
		return func() {}, nil
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = conn.SetDeadline(past) // a closed connection ends the wait too
	})
	return func() {
		if !stop() {
			<-done // otherwise it would end the next wait
			_ = conn.SetDeadline(time.Time{})
		}
	}, nil
}

// Wait returns the next value of a channel. The error is that of ctx.
func Wait[T any](ctx context.Context, from <-chan T) (v T, err error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end) // a context of Bound has no timer
		defer cancel()
	}
	select {
	case v := <-from:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// Bound returns ctx with a deadline a time from now. It needs no timer, for a
// client that sends many requests: Done and Err are those of ctx.
func Bound(ctx context.Context, timeout time.Duration) context.Context {
	end := time.Now().Add(timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(end) {
		return ctx
	}
	return deadline{ctx, end}
}

type deadline struct {
	context.Context
	end time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.end, true }
