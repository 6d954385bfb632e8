package commands

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/probe"
)

// askOnce queries one server from a socket of its own until ctx ends.
func askOnce(ctx context.Context, protocol probe.Protocol, address string) (st probe.Status, err error) {
	to, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return st, err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return st, err
	}
	defer func() { _ = conn.Close() }()
	a := to.AddrPort()
	return probe.Ask(ctx, conn, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), protocol)
}

// queryTimeout is how long a server has to answer a command, unless --timeout
// says otherwise.
const queryTimeout = 3 * time.Second
