package ssq

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Standard Server Queries", Docs: []string{"protocols/ssq"}, Stage: service.StageViews, Shows: true, Steps: steps(),
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	metrics := env.Metrics(dropNames[1:]...)
	s := New(Options{
		Registry: env.List, Games: env.Games, Addresses: env.Addresses, Verdicts: env.Servers, Players: env.Players, Banned: env.BannedFrom(storage.ScopeLists), Version: env.Version,
		Config: *c, Trusted: env.Trusted,
		Packets: netserve.PacketOptions{Log: env.Log, Metrics: metrics}, Log: env.Log, Metrics: metrics, Registerer: env.Registerer,
	})
	return &service.Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve:  func(ctx context.Context) error { return s.Serve(ctx, conn) },
		Reload: func(to service.Service) { s.Reload(to.(*Config)) },
		Close:  conn.Close,
	}, nil
}
