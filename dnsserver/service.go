package dnsserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Names of the services", Stage: service.StagePages,
		Steps:  []service.Step{{Name: "dns", Needs: []string{"dns"}, Order: service.OrderAlone, Run: resolve}},
		Check:  func(string, service.Moment) error { return c.check(hostnet.Own()) },
		Guests: service.Guests{Invited: c.Enabled, Resolver: true},
	}
}

// Open opens the socket and the listener of the service. It implements
// service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, ln, err := service.ListenBoth(ctx, c.Listen)
	if err != nil {
		return nil, explain(err, c.Listen)
	}
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeAll, env.Verdicts.Players),
		Names: env.Names.Has, None: env.Names.None, Conn: netserve.ConnOptions{Grace: service.Grace},
	})
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error { return s.Serve(ctx, conn, ln) })
	r.Address, r.UDP = conn.LocalAddr(), []netip.AddrPort{conn.LocalAddr()}
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	closeListener := r.Close
	r.Close = func() error { return errors.Join(conn.Close(), closeListener()) }
	return r, nil
}

// check returns the mistakes of a configuration that can only be found on this
// machine, which has the addresses mine.
func (c *Config) check(mine []netip.Addr) error {
	if !c.Enabled || c.Listen == "" {
		return nil
	}
	return ownUpstream(c.Upstreams, c.Listen, mine)
}

// ownUpstream returns an error for an upstream that is this server itself.
func ownUpstream(upstreams []netip.AddrPort, listen string, mine []netip.Addr) error {
	everywhere, at := listensOn(listen)
	for _, u := range upstreams {
		if u.Port() != at.Port() {
			continue
		}
		if u.Addr() == at.Addr() || (everywhere && (u.Addr().IsLoopback() || slices.Contains(mine, u.Addr()))) {
			return fmt.Errorf("dns.upstreams: %v is this DNS server itself: it would ask itself without end", u)
		}
	}
	return nil
}

// listensOn returns the meaning of a checked listen address: one address, or
// every one of this machine.
func listensOn(listen string) (everywhere bool, at netip.AddrPort) {
	host, port, _ := net.SplitHostPort(listen)
	switch host {
	case "":
		host = "0.0.0.0"
	case "localhost":
		host = "127.0.0.1"
	}
	at, _ = netip.ParseAddrPort(net.JoinHostPort(host, port))
	return at.Addr().IsUnspecified(), at
}
