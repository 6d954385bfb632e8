package q3master

import (
	"context"
	"fmt"

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
		Dialogue: dialogue.Public(dialogue.Word),
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
	conns, err := netserve.Ports{Network: "udp", Address: c.Listen}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	s := New(Options{Config: *c, Registration: env.Registers(storage.ScopeLists, uplink.DropNames()...)})
	env.Guests.Add(Takes, s)
	return service.OnSockets(conns, s, func(to service.Service) { s.Reload(to.(*Config)) }), nil
}
