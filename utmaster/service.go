package utmaster

import (
	"context"
	"errors"
	"net"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Unreal Tournament server lists", Nouns: []noun.Noun{noun.Keys, noun.Names, noun.News}, Docs: []string{"protocols/utmaster"}, Shows: true, Origins: []*master.Origin{Origin},
		Plays:   []service.Play{{Service: "utmaster", Network: "TCP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
		Steps:   []service.Step{{Name: serviceName, Needs: []string{serviceName}, Order: service.OrderAlone, Run: findServer}},
		Connect: "Unreal Tournament 2004: the lines of the game, or `MasterServerList=(Address=\"{address}\",Port={port})` in the section `IpDrv.MasterServerLink` of `UT2004.ini`. Game servers: `MasterServerAddress={address}` in the section `IpDrv.MasterServerUplink`.",
	}
}

// Open opens the listener and the socket of the service. It implements
// service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, ln, err := service.ListenBoth(ctx, c.Listen)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(c.Listen) // it was checked
	ask, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, errors.Join(err, conn.Close(), ln.Close())
	}
	s := New(Options{
		Config: *c, Self: env.Counted(DropReasons()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		MOTD: env.News.Motd, KeyBanned: env.Keys.Banned,
		Players: env.Verdicts.Players,
	})
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error { return s.Serve(ctx, conn, ask, ln) })
	r.UDP = service.PacketAddrs([]*netserve.PacketConn{conn, ask})
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	closeListener := r.Close
	r.Close = func() error {
		return errors.Join(service.ClosePackets([]*netserve.PacketConn{conn, ask}), closeListener())
	}
	return r, nil
}
