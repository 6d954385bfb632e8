package peerchat

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"github.com/respawnd/respawnd/internal/netserve"
)

// programs is a listener for programs of this daemon that are clients of chat: their
// connections are in memory. They speak as other clients do, in clear text.
type programs struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPrograms() *programs {
	return &programs{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// programAddr is the address of programs. Games take a player without one for no player.
var programAddr = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:1"))

// programConn is the service's end of a connection.
type programConn struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (programConn) RemoteAddr() net.Addr { return programAddr }

// Accept implements net.Listener.
func (p *programs) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return programConn{c}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *programs) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *programs) Addr() net.Addr { return programAddr }

// Dial implements service.Chat.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case s.programs.conns <- server:
		return client, nil
	case <-s.programs.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// servePrograms serves the connections of programs until ctx ends.
func (s *Server) servePrograms(ctx context.Context) {
	_ = netserve.ServeConns(ctx, s.programs, programHandler{s}, netserve.ConnOptions{
		FirstByte: forever, Idle: forever, Write: s.opt.Write, Rate: -1, Log: s.opt.Log,
	}) // it ends only with ctx
}

type programHandler struct{ *Server }

// ServeConn implements netserve.ConnHandler.
func (h programHandler) ServeConn(ctx context.Context, c *netserve.Conn) { h.serve(ctx, c, true) }

// onlyPrograms reports whether no player is in a channel, of whatever node; nil: it has
// no members. The lock of the hall is held.
func (s *Server) onlyPrograms(c *channel) bool {
	if c == nil {
		return true
	}
	for _, m := range c.members {
		if !s.opt.Games.QuickMatchNick(m.user.nick) {
			return false
		}
	}
	return true
}

// Owns implements service.Chat.
func (s *Server) Owns(channel string) bool {
	h := s.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links.owned(foldChannel(channel))
}
