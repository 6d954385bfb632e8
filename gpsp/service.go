package gpsp

import (
	"context"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var _ = verdicts.Speak("gpsp", verdicts.Speaker{What: "request for an account", Player: true, Texts: verdicts.SignInTexts})

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Accounts and search for players", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/gpsp"}, Private: c.Private,
		Plays:    []service.Play{{Service: "gpsp", Network: "TCP", Order: service.PlayMeets, Means: "the game finds and makes no accounts", Run: play}},
		Dialogue: dialogue.Pairs("email", "password", "pass", "passenc", "passwordenc", "cdkey", "cdkeyenc"),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return service.OpenConns(ctx, c.Listen, New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Store: env.Store, Accounts: env.Accounts, Hub: env.Hub,
	}))
}
