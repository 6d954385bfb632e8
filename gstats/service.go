package gstats

import (
	"context"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Statistics and saved data", Nouns: []noun.Noun{noun.Accounts, noun.Stats}, Docs: []string{"protocols/gstats"},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: check}},
		Plays:    []service.Play{{Service: "gstats", Network: "TCP", Order: service.PlayKeeps, Means: "statistics and ranks are not kept", Run: play}},
		Dialogue: dialogueOf(),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	s := New(Options{
		Config: *c, Self: env.Counted(DropReasons()...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Book: env.Stats, SignIn: env.Accounts.SignIn, ByCDKey: env.Accounts.Profiles.ByCDKeyHash, Players: env.Store, Games: env.Games,
		Attach: env.Hub.Attach, Present: env.Hub.SignedInFrom,
	})
	r, err := service.OpenConns(ctx, c.Listen, s)
	if err != nil {
		return nil, err
	}
	env.Stats.SetLimits(c.limits())
	r.Reload = func(to service.Service) {
		c := to.(*Config)
		env.Stats.SetLimits(c.limits())
		s.Reload(c)
	}
	return r, nil
}

// limits returns the limits of the data of games.
func (c *Config) limits() stats.Limits {
	return stats.Limits{MaxBlock: c.MaxBlock, MaxPerProfile: int64(c.MaxPerProfile), KeepGames: c.KeepGames, KeepFor: c.KeepFor}
}
