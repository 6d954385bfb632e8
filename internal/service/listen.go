package service

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Grace is how long the connections of a service that stops may take to end.
const Grace = time.Second

// ListenTCP opens a TCP listener on an address as the configuration has it.
func ListenTCP(ctx context.Context, network, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, network, address)
}

// Limits are the live keys that services of connections share.
type Limits struct {
	MaxConns, MaxPerAddr, Rate, Burst int
}

// ConnLimits returns limits of connections from which trusted addresses are
// exempt.
func (e *Env) ConnLimits(l Limits) netserve.ConnOptions {
	return netserve.ConnOptions{
		MaxConns: l.MaxConns, MaxPerAddr: l.MaxPerAddr, Rate: float64(l.Rate), Burst: l.Burst, Exempt: e.Trusted,
	}
}

// ListenGated opens a TCP listener, and a gate with the limits of its connections.
func (e *Env) ListenGated(ctx context.Context, address string, l Limits) (net.Listener, *netserve.Gate, error) {
	ln, err := ListenTCP(ctx, "tcp4", address)
	if err != nil {
		return nil, nil, err
	}
	return ln, netserve.NewGate(e.ConnLimits(l)), nil
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
