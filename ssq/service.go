package ssq

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Standard Server Queries", Docs: []string{"protocols/ssq"}, Stage: service.StageViews, Shows: true,
		Dialogue: dialogue.Public(dialogue.Leading(5)),
		Steps:    []service.Step{{Name: "ssq", Server: true, Needs: []string{"ssq"}, Order: service.OrderLists, Run: findServer}},
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, netserve.ListenOptions{})
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Players: env.Verdicts.Players,
	})
	return service.OnSocket(conn, s), nil
}
