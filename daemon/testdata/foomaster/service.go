package foomaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// name is that of the service.
const name = "foomaster"

// Config is section foomaster of the configuration.
type Config struct {
	// UDP address.
	Listen string `key:"listen" default:":7007" listen:"udp 7007"`
	// Newest version of the game, which lists name: {words}.
	Newest string `key:"newest" default:"1.0" words:"1.0, 1.1" live:"true"`
	uplink.Config
	uplink.ListConfig
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "foo", Story: "It registered with the master server of Foo; its address is verified.", Query: "quake3", Colours: "quake",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the master of Foo"})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Foo server lists", Nouns: []noun.Noun{noun.Names}, Shows: true, Origins: []*master.Origin{Origin},
		Dialogue: dialogue.Public(dialogue.Leading(len(list))),
		AskEvery: c.AskEvery(),
		Connect:  "Foo: set `foo_master {address}:{port}`, on servers and in players’ games.",
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Plays:    []service.Play{{Service: name, Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
	}
}

// Open opens the socket of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conns, err := netserve.Ports{Network: "udp4", Address: c.Listen}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	s := newServer(options{*c, env.Registers(storage.ScopeLists, uplink.DropNames()...)})
	return service.OnSockets(conns, s, func(to service.Service) { s.Reload(to.(*Config)) }), nil
}
