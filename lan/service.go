package lan

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	d := service.Descriptor{
		Stage: service.StageSearch, Origins: []*master.Origin{master.Found}, Guests: service.Guests{Invited: c.Discover},
	}
	if c.Discover {
		d.Switch = "lan.discover"
	}
	return d
}

// Open opens the socket of the search, on any port of the host that game servers
// report to. The port on which servers of Zandronum announce themselves may be
// taken by a launcher; the search continues without it. It implements
// service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	host := env.Host(noun.GameSpy)
	conn, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	opened := []*netserve.PacketConn{conn}
	var ports []string
	zandronum, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, strconv.Itoa(ZandronumPort)), netserve.ListenOptions{})
	if err != nil {
		env.Log.Warn().Err(err).Msg("announcements of Zandronum servers cannot be received")
	} else {
		opened = append(opened, zandronum)
		ports = append(ports, net.JoinHostPort(host, strconv.Itoa(ZandronumPort)))
	}
	f := New(Options{
		Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing, Every: c.Every,
		Found: func(a netip.AddrPort) bool { return env.Asker.Watch(a, "a2s", master.Found) == nil },
		FoundZandronum: func(a netip.AddrPort) {
			if err := env.Asker.Watch(a, "zandronum", master.Found); err != nil { // it is counted
				env.Log.Debug().Stringer("peer", a).Err(err).Msg("announced server not asked")
			}
		},
	})
	return &service.Running{
		Address: conn.LocalAddr(), UDP: service.PacketAddrs(opened), Ports: ports,
		Serve: func(ctx context.Context) error { return f.Serve(ctx, conn, zandronum) },
		Close: func() error { return service.ClosePackets(opened) },
	}, nil
}
