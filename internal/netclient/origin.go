package netclient

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

type originKey struct{}

// From returns a context whose sockets have an address of this machine: those of Dial, Listen,
// DialTCP, Get and HTTP. The error is that of a machine that has no such address.
func From(ctx context.Context, a netip.Addr) (context.Context, error) {
	var lc net.ListenConfig
	conn, err := lc.ListenPacket(ctx, "udp4", netip.AddrPortFrom(a, 0).String())
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, originKey{}, a), conn.Close()
}

// origin returns the address of From; the zero one: any.
func origin(ctx context.Context) netip.Addr {
	a, _ := ctx.Value(originKey{}).(netip.Addr)
	return a
}

// Connect connects to a server, host:port, from the address of From. network is udp4 or tcp4.
func Connect(ctx context.Context, network, server string) (net.Conn, error) {
	var d net.Dialer
	if a := origin(ctx); a.IsValid() {
		d.LocalAddr = localAddr(network, a)
	}
	return d.DialContext(ctx, network, server)
}

// localAddr returns any port of an address.
func localAddr(network string, a netip.Addr) net.Addr {
	if network == "udp4" {
		return &net.UDPAddr{IP: a.AsSlice()}
	}
	return &net.TCPAddr{IP: a.AsSlice()}
}

// HTTP returns a client of a server of this machine. It keeps no connection, and uses no
// proxy from the environment.
func HTTP() *http.Client {
	dial := func(ctx context.Context, network, server string) (net.Conn, error) {
		if host, err := netip.ParseAddrPort(server); err == nil && host.Addr().Is6() {
			return new(net.Dialer).DialContext(ctx, network, server)
		}
		return DialTCP(ctx, server)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}
