package gpsp

import (
	"context"

	"github.com/respawnd/respawnd/internal/netserve"
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
		Banned: env.BannedFrom(storage.ScopePresence), Policy: c.policy(env), Idle: c.Idle,
		Conn: netserve.ConnOptions{Gate: gate, Write: c.Write, Grace: service.Grace},
		Log:  env.Log, Metrics: env.Metrics(DropReasons()...), Registerer: env.Registerer,
	})
	r := service.OnListener(ln, s.Serve)
	r.Reload = func(to service.Service) {
		c := to.(*Config)
		gate.SetLimits(env.ConnLimits(c.limits()))
		s.SetPolicy(c.policy(env))
	}
	return r, nil
}

func (c *Config) policy(env *service.Env) Policy {
	return Policy{
		Lookups: service.UnlessZero(c.Lookups), ValidPerNet: service.UnlessZero(c.ValidPerNet),
		Registrations: service.UnlessZero(c.Registrations), Trusted: env.Trusted, Private: c.Private,
	}
}

// limits are the live keys about connections.
func (c *Config) limits() service.Limits {
	return service.Limits{MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: c.Rate, Burst: c.Burst}
}
