package qwmaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q2master"
)

const name = "qwmaster"

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "quakeworld", Story: "It registered with the QuakeWorld master server; its address is verified.", Query: "quakeworld",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the QuakeWorld master"})

// The games that have a list.
const (
	worldGame = "quakeworld"
	hexenGame = "hexenworld"
)

// Dialect returns that of QuakeWorld and HexenWorld.
func Dialect() q2master.Dialect {
	return q2master.Dialect{
		Service: name, Origin: Origin, Instance: 0x51574D52, Form: quake2.World, Usual: worldPort,
		Further: []q2master.Place{{Port: hexenPort, Form: quake2.Hexen, Game: hexenGame}}, Own: foreign.QuakeWorld,
		Game: func(s *quake2.Status, _ uint16) string { return s.WorldGame() },
		ListOf: func(game string) string {
			if game == hexenGame {
				return hexenGame
			}
			return worldGame
		},
	}
}

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "QuakeWorld server lists", Docs: []string{"protocols/qwmaster"}, Shows: true, Origins: []*master.Origin{Origin},
		Dialogue: dialogue.Public(dialogue.Word),
		Steps:    q2master.Steps(name, quake2.World), Plays: q2master.Plays(name, quake2.World), Takes: []verdicts.Verdict{verdicts.SpeaksQuakeWorld},
		Connect:  "QuakeWorld: set `setmaster {address}:{port}` on servers.",
		AskEvery: c.AskEvery(),
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return q2master.Open(ctx, env, c.options(), Dialect(), func(to service.Service) q2master.Config { return to.(*Config).options() })
}

func (c *Config) options() q2master.Config {
	return q2master.Config{Listen: c.Listen, Game: worldGame, Config: c.Config, ListConfig: c.ListConfig}
}
