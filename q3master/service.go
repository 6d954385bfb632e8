package q3master

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// maxGames bounds the key games.
const maxGames = 256

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Quake 3 server lists", Docs: []string{"protocols/q3master"}, Shows: true, Origins: []*master.Origin{Origin},
		Dialogue: dialogue.Protocol{Blot: dialogue.Nothing, Shape: dialogue.Word},
		Plays:    []service.Play{{Service: "q3master", Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
		Steps:    []service.Step{{Name: "q3master", Needs: []string{"q3master"}, Order: service.OrderAlone, Run: findServer}},
		Takes:    []verdicts.Verdict{verdicts.SpeaksQuake3},
		Connect:  "Quake III, OpenArena and games of their family: set `sv_master1 {address}:{port}`, on servers with `dedicated 2` and in players’ games.",
		AskEvery: c.AskEvery(), Check: func(string, service.Moment) error { return c.check() },
	}
}

// check returns the first mistake in the list of games.
func (c *Config) check() error {
	if len(c.Games) > maxGames {
		return fmt.Errorf("q3master.games: %d games, at most %d are allowed", len(c.Games), maxGames)
	}
	for _, g := range c.Games {
		if g == "" || len(g) > quake3.MaxGame {
			return fmt.Errorf("q3master.games: %.80q is not the name of a game", g)
		}
	}
	return nil
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	// IPv6 too, where the address and the system have it.
	conn, err := netserve.ListenPackets(ctx, "udp", c.Listen, c.ListenOptions())
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(uplink.DropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
	})
	env.Guests.Add(Takes, s)
	return &service.Running{
		Address: conn.LocalAddr(), UDP: []netip.AddrPort{conn.LocalAddr()},
		Serve:     func(ctx context.Context) error { return s.Serve(ctx, conn) },
		Reload:    func(to service.Service) { s.Reload(to.(*Config)) },
		Close:     conn.Close,
		Files:     s.Files,
		Callbacks: &service.Callbacks{Origin: Origin, Expired: s.keeper.Expired, Replaced: s.keeper.Replaced},
	}, nil
}
