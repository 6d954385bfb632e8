package gpsp

import (
	"context"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Accounts and search for players", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/gpsp"}, Private: c.Private,
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return service.OpenConns(ctx, c.Listen, New(Options{
		Config: *c, Store: env.Store, Accounts: env.Accounts, Hub: env.Hub,
		Banned: env.BannedFrom(storage.ScopePresence), Trusted: env.Trusted, Verdicts: env.Players,
		Log: env.Log, Metrics: env.Metrics(DropReasons()...), Registerer: env.Registerer,
	}))
}
