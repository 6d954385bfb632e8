package serverbrowse

import (
	"context"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Server lists in games", Nouns: []noun.Noun{noun.GameSpy, noun.Names, noun.Rooms}, Docs: []string{"protocols/serverbrowse"}, Shows: true, Steps: steps(),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return service.OpenConns(ctx, c.Listen, New(Options{
		Config: *c, Registry: env.List, Games: env.Games, Rooms: env.Rooms, Waiting: env.Waiting, Addresses: env.Addresses, Messenger: env.Messenger,
		Banned: env.BannedFrom(storage.ScopeLists), Trusted: env.Trusted, Verdicts: env.Players,
		Log: env.Log, Metrics: env.Metrics(DropReasons()...), Registerer: env.Registerer,
	}))
}
