package main

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
)

// timeout is how long a user waits for an answer. Nothing is repeated: later answers are lost.
const timeout = 5 * time.Second

// user is a client of the daemon: a game, a server or a program. It is used by
// one goroutine at a time.
type user interface {
	// do is one operation, with its answers.
	do(ctx context.Context) error
	// close ends the user and everything that it started. It says good-bye where its
	// kind does, unless rude is set.
	close(rude bool)
}

// opener makes the i-th user of a kind.
type opener func(ctx context.Context, w *world, i int) (user, error)

// world is the shared knowledge of users.
type world struct {
	daemon  *child
	dir     string    // of the daemon, with its data
	run     string    // in names of this run, so that it meets no other's
	players []account // for presence
	ports   sync.Map  // of game servers, by address: a server that restarts has the same one
}

// bind opens the UDP socket of a game server on an address, with the port that it
// had there before if that is free. It talks to the service at to, and if connected
// is set to nothing else.
func (w *world) bind(at netip.Addr, to netip.AddrPort, connected bool) (*netclient.Packets, error) {
	open := func(port uint16) (*netclient.Packets, error) {
		local := net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, port))
		var c *net.UDPConn
		var err error
		if connected {
			c, err = net.DialUDP("udp4", local, net.UDPAddrFromAddrPort(to))
		} else {
			c, err = net.ListenUDP("udp4", local)
		}
		if err != nil {
			return nil, err
		}
		return netclient.New(c, to, readSize), nil
	}
	if port, ok := w.ports.Load(at); ok {
		if c, err := open(port.(uint16)); err == nil {
			return c, nil
		}
	}
	c, err := open(0)
	if err == nil {
		w.ports.Store(at, c.Local().Port())
	}
	return c, err
}

// address returns the i-th address of a group of users. All of 127.0.0.0/8 is
// this machine.
func address(group byte, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, group, byte(i >> 8), byte(i)})
}

// readSize is how long packets may be that users read, in bytes.
const readSize = 8192

// dialUDP opens a socket that is connected to a service.
func dialUDP(from netip.Addr, to netip.AddrPort) (*netclient.Packets, error) {
	c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	return netclient.New(c, to, readSize), nil
}

// dialTCP connects to a service.
func dialTCP(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: timeout}
	return d.DialContext(ctx, "tcp4", to.String())
}

// soon is the context of one wait for an answer. It cannot be cancelled, which
// would cost more than a packet does.
func soon() context.Context { return netclient.Bound(context.Background(), timeout) }
