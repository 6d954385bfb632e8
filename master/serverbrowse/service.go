package serverbrowse

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var _ = verdicts.Speak("serverbrowse", verdicts.Speaker{What: "request for a list", Player: true, Texts: verdicts.ListTexts})

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Server lists in games", Nouns: []noun.Noun{noun.GameSpy, noun.Names, noun.Rooms}, Docs: []string{"protocols/serverbrowse"}, Shows: true, Steps: steps(),
		Plays:    []service.Play{{Service: "serverbrowse", Network: "TCP", Order: service.PlayLists, Means: "the server browser of the game stays empty", Run: play}},
		Dialogue: dialogue.Protocol{Split: split, Blot: dialogue.Nothing},
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return service.OpenConns(ctx, c.Listen, New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Players), Listing: env.Listing,
		Rooms: env.Rooms, Waiting: env.Waiting, Messenger: env.Messenger,
	}))
}
