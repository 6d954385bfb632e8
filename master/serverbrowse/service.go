package serverbrowse

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
		Registry: env.List, Games: env.Games, Rooms: env.Rooms, Addresses: env.Addresses, Messenger: env.Messenger,
		Banned: env.BannedFrom(storage.ScopeLists), Verdicts: env.Players,
		LenientFilter: c.LenientFilter, MaxFilter: c.MaxFilter, KeepAlive: c.KeepAlive,
		MessageRate: float64(c.MessageRate), MessageBurst: c.MessageBurst, Push: c.Push, MaxFollowed: c.MaxFollowed,
		Conn: netserve.ConnOptions{
			Gate: gate, FirstByte: c.FirstByte, Idle: c.Idle, Write: c.Write, Grace: service.Grace,
		},
		Log: env.Log, Metrics: env.Metrics(DropReasons()...), Registerer: env.Registerer,
	})
	r := service.OnListener(ln, s.Serve)
	r.Reload = func(to service.Service) { gate.SetLimits(env.ConnLimits(to.(*Config).limits())) }
	return r, nil
}

// limits are the live keys about connections.
func (c *Config) limits() service.Limits {
	return service.Limits{MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: c.Rate, Burst: c.Burst}
}
