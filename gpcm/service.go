package gpcm

import (
	"context"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	ln, gate, err := env.ListenGated(ctx, c.Listen, c.limits())
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Store: env.Store, Accounts: env.Accounts, Hub: env.Hub, Verdicts: env.Players,
		Banned: env.BannedFrom(storage.ScopePresence), Policy: c.policy(env),
		LoginTime: c.LoginTime, KeepAlive: c.KeepAlive, TicketRenewal: c.TicketRenewal, UserTimeout: c.UserTimeout,
		Conn: netserve.ConnOptions{Gate: gate, MaxConns: c.MaxConns, Write: c.Write, Grace: service.Grace},
		Log:  env.Log, Metrics: env.Metrics(DropReasons()...), Registerer: env.Registerer,
	})
	r := service.OnListener(ln, s.Serve)
	r.Reload = func(to service.Service) {
		c := to.(*Config)
		env.Hub.SetMaxSessions(c.MaxConns)
		gate.SetLimits(env.ConnLimits(c.limits()))
		s.SetPolicy(c.policy(env))
	}
	return r, nil
}

func (c *Config) policy(env *service.Env) Policy {
	second := map[games.SecondLogin]presence.Policy{
		games.KickProfile: presence.KickProfile, games.KickUser: presence.KickUser, games.AllowSecond: presence.Allow,
	}
	return Policy{
		Registrations: service.UnlessZero(c.Registrations),
		Trusted:       env.Trusted,
		Rule: func(game string) Rule {
			g, _ := env.Games.Lookup(game) // an unknown game has no policy of its own
			return Rule{
				SecondLogin:     second[g.Policy.SecondLogin.Or(games.SecondLogin(c.SecondLogin))],
				AutoAccept:      g.Policy.AutoAccept.Or(c.AutoAccept),
				SymmetricDelete: g.Policy.SymmetricDelete.Or(c.SymmetricDelete),
				NoUserID:        g.Policy.NoUserID.Or(c.NoUserID),
			}
		},
	}
}

// limits are the live keys about connections.
func (c *Config) limits() service.Limits {
	return service.Limits{MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: c.Rate, Burst: c.Burst}
}
