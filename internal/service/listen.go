package service

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Grace is how long the connections of a stopping service may take to end.
const Grace = time.Second

// ListenTCP opens a TCP listener on an address in the form of the
// configuration.
func ListenTCP(ctx context.Context, network, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, network, address)
}

// listenTries is the number of attempts to find a port that is free for UDP and TCP.
const listenTries = 20

// ListenBoth opens an address for UDP and TCP. With port 0 both get the same port.
func ListenBoth(ctx context.Context, address string) (*netserve.PacketConn, net.Listener, error) {
	for try := 1; ; try++ {
		conn, err := netserve.ListenPackets(ctx, "udp4", address, netserve.ListenOptions{})
		if err != nil {
			return nil, nil, err
		}
		ln, err := ListenTCP(ctx, "tcp4", conn.LocalAddr().String())
		if err == nil {
			return conn, ln, nil
		}
		err = errors.Join(err, conn.Close())
		if _, port, _ := net.SplitHostPort(address); port != "0" || try == listenTries {
			return nil, nil, err
		}
	}
}

// ErrLeftOut is matched by an error of Open after which the daemon starts without
// the service. It is logged as a warning, with the remedy.
var ErrLeftOut = errors.New("started without this service")

// KeyError is an error of Open that is about another key than the address of the service.
type KeyError struct {
	Key string // "webservices.tls_listen"
	Err error
}

// Error implements error.
func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error without the key.
func (e *KeyError) Unwrap() error { return e.Err }

// PortRights describes the users who may open a port below 1024 on this system.
func PortRights(port string) string {
	if runtime.GOOS == "linux" {
		return "Ports below 1024 need root, the right CAP_NET_BIND_SERVICE (AmbientCapabilities= of a systemd unit; ours has it; " +
			"`setcap cap_net_bind_service=+ep respawnd` gives it to the program), or net.ipv4.ip_unprivileged_port_start=" + port + "."
	}
	return "Ports below 1024 need the rights of an administrator here."
}

// ConnServer is a service of TCP connections, made from a C.
type ConnServer[C Service] interface {
	// Serve serves the connections of ln until ctx ends, and closes ln.
	Serve(ctx context.Context, ln net.Listener) error
	// Reload applies the live keys of to.
	Reload(to C)
}

// OpenConns opens the listener of s.
func OpenConns[C Service](ctx context.Context, address string, s ConnServer[C]) (*Running, error) {
	ln, err := ListenTCP(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	r := OnListener(ln, s.Serve)
	r.Reload = func(to Service) { s.Reload(to.(C)) }
	return r, nil
}

// OnListener returns a Running for a service of one listener, which serve may
// close.
func OnListener(ln net.Listener, serve func(context.Context, net.Listener) error) *Running {
	return &Running{
		Address: ln.Addr(),
		Serve:   func(ctx context.Context) error { return serve(ctx, ln) },
		Close: func() error {
			if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		},
	}
}

// PacketServer is a service of datagrams, made from a C.
type PacketServer[C Service] interface {
	// Serve serves the packets of conn until ctx ends. conn stays open.
	Serve(ctx context.Context, conn *netserve.PacketConn) error
	// Reload applies the live keys of to.
	Reload(to C)
}

// OnSocket returns a Running for a service of one UDP socket, which it closes.
func OnSocket[C Service](conn *netserve.PacketConn, s PacketServer[C]) *Running {
	return &Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve:  func(ctx context.Context) error { return s.Serve(ctx, conn) },
		Reload: func(to Service) { s.Reload(to.(C)) },
		Close:  conn.Close,
	}
}

// ClosePackets closes UDP sockets.
func ClosePackets(opened []*netserve.PacketConn) error {
	var errs []error
	for _, c := range opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// PacketAddrs returns the addresses of UDP sockets.
func PacketAddrs(opened []*netserve.PacketConn) (out []netip.AddrPort) {
	for _, c := range opened {
		out = append(out, c.LocalAddr())
	}
	return out
}
