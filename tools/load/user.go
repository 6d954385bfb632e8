package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// patience is how long a user waits for an answer. Nothing is repeated: what has
// not come by then is lost.
const patience = 5 * time.Second

// user is a client of the daemon: a game, a server or a program. It is used by
// one goroutine at a time.
type user interface {
	// do is one operation, with its answers.
	do(ctx context.Context) error
	// close ends the user and whatever it started. It says good-bye where its
	// kind does, unless rude is set.
	close(rude bool)
}

// opener makes the i-th user of a kind.
type opener func(ctx context.Context, w *world, i int) (user, error)

// world is what users know.
type world struct {
	daemon  *child
	run     string    // in names of this run, so that it meets no other's
	players []account // for presence
	ports   sync.Map  // of game servers, by address: who restarts has the same one
}

// bind opens the UDP socket of a game server on an address, with the port that it
// had there before if that is free. to is whom it is connected with, if valid.
func (w *world) bind(at netip.Addr, to netip.AddrPort) (*net.UDPConn, error) {
	open := func(port uint16) (*net.UDPConn, error) {
		local := net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, port))
		if to.IsValid() {
			return net.DialUDP("udp4", local, net.UDPAddrFromAddrPort(to))
		}
		return net.ListenUDP("udp4", local)
	}
	if port, ok := w.ports.Load(at); ok {
		if c, err := open(port.(uint16)); err == nil {
			return c, nil
		}
	}
	c, err := open(0)
	if err == nil {
		w.ports.Store(at, c.LocalAddr().(*net.UDPAddr).AddrPort().Port())
	}
	return c, err
}

// address returns the i-th address of a group of users. All of 127.0.0.0/8 is
// this machine.
func address(group byte, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, group, byte(i >> 8), byte(i)})
}

var errShortWrite = errors.New("not all was sent")

// socket is a UDP socket of a user, connected to a service.
type socket struct {
	conn *net.UDPConn
	out  []byte
	in   [8192]byte
}

func dialUDP(from netip.Addr, to netip.AddrPort) (*socket, error) {
	c, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	return &socket{conn: c}, nil
}

func (s *socket) local() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (s *socket) send(p []byte) error {
	n, err := s.conn.Write(p)
	if err == nil && n < len(p) {
		err = errShortWrite
	}
	return err
}

// await reads packets until accept says that what was waited for has come.
func (s *socket) await(accept func(p []byte) (done bool, err error)) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	for {
		n, err := s.conn.Read(s.in[:])
		if err != nil {
			return err
		}
		if done, err := accept(s.in[:n]); done || err != nil {
			return err
		}
	}
}

// dialTCP connects to a service. All on the connection has to be over within
// patience, unless its deadline is moved.
func dialTCP(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: patience}
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
