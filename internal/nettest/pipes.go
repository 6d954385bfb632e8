package nettest

import (
	"net"
	"net/netip"
	"sync"
)

// Pipes is a net.Listener on connections in memory, which testing/synctest can
// follow.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener without connections.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects. It waits until the connection is accepted; the error is
// net.ErrClosed.
func (p *Pipes) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	return client, p.Add(server)
}

// DialFrom is Dial from an address.
func (p *Pipes) DialFrom(from netip.AddrPort) (net.Conn, error) {
	client, server := net.Pipe()
	return client, p.Add(&pipe{server, net.TCPAddrFromAddrPort(from)})
}

// Add waits until a connection is accepted.
func (p *Pipes) Add(c net.Conn) error {
	select {
	case p.conns <- c:
		return nil
	case <-p.closed:
		return net.ErrClosed
	}
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener: it is an address of the loopback interface.
func (*Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// pipe is a connection with the address of its client.
type pipe struct {
	net.Conn
	from net.Addr
}

func (p *pipe) RemoteAddr() net.Addr { return p.from }
