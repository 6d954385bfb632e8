package mangler

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{Title: "NAT helper of Generals and Zero Hour", Docs: []string{"protocols/mangler"}, Steps: steps()}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	self := env.Counted(DropReasons()...)
	s := New(Options{
		Config: *c, Self: self, Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
	})
	return &service.Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve: func(ctx context.Context) error {
			return netserve.ServePackets(ctx, conn, s, self.Packets(1))
		},
		Reload: func(to service.Service) { s.Reload(to.(*Config)) },
		Close:  conn.Close,
	}, nil
}
