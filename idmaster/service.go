package idmaster

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Doom 3, Quake 4 and Prey server lists", Nouns: []noun.Noun{noun.Names}, Docs: []string{"protocols/idmaster"}, Shows: true, Origins: []*master.Origin{Origin},
		Plays:    []service.Play{{Service: "idmaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty, and your key is not accepted", Run: play}},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Connect:  "Doom 3, Quake 4 and Prey: the lines of the game, or `net_master0 {address}:{port}` in the console, of servers and of players’ games.",
		AskEvery: c.AskEvery(),
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	listen := c.ListenOptions()
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, listen)
	if err != nil {
		return nil, err
	}
	further := uplink.OpenFurther(ctx, "udp4", c.Listen, usualPort, env.Games.MasterNames(name).Ports(), listen, env.Log)
	s := New(Options{
		Config: *c, Self: env.Counted(uplink.DropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Players: env.BannedFrom(storage.ScopePresence),
	})
	return &service.Running{
		Address: conn.LocalAddr(), UDP: uplink.Addresses(conn, further),
		Ports:     uplink.Ports(c.Listen, further),
		Serve:     func(ctx context.Context) error { return s.Serve(ctx, conn, further...) },
		Reload:    func(to service.Service) { s.Reload(to.(*Config)) },
		Close:     func() error { return errors.Join(conn.Close(), uplink.Close(further)) },
		Callbacks: &service.Callbacks{Origin: Origin, Expired: s.keeper.Expired, Replaced: s.keeper.Replaced},
	}, nil
}
