package main

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// bannedFromPresence returns whether an address is kept from signing in.
func (d *daemon) bannedFromPresence(a netip.Addr) bool { return d.bannedFrom(storage.ScopePresence, a) }

func (d *daemon) openGPCM(ctx context.Context, l configs.Listener) (service, error) {
	ln, err := listen(ctx, "tcp4", l.Address)
	if err != nil {
		return service{}, err
	}
	c := d.cfg.GPCM
	gate := netserve.NewGate(d.gpcmLimits())
	log := d.log.With().Str("service", "gpcm").Logger()
	s := gpcm.New(gpcm.Options{
		Store: d.store, Accounts: d.accounts, Hub: d.hub, Banned: d.bannedFromPresence, Verdicts: d.visits, Policy: d.gpcmPolicy(),
		LoginTime: c.LoginTime, KeepAlive: c.KeepAlive, TicketRenewal: c.TicketRenewal, UserTimeout: c.UserTimeout,
		Conn: netserve.ConnOptions{Gate: gate, MaxConns: c.MaxConns, Write: c.Write, Grace: grace},
		Log:  log, Metrics: netserve.NewMetrics(d.metrics, "gpcm", gpcm.DropReasons()...), Registerer: d.metrics,
	})
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		reload: func() {
			d.hub.SetMaxSessions(d.cfg.GPCM.MaxConns)
			gate.SetLimits(d.gpcmLimits())
			s.SetPolicy(d.gpcmPolicy())
		},
		close: closeOnce(ln),
	}, nil
}

func (d *daemon) gpcmLimits() netserve.ConnOptions {
	c := d.cfg.GPCM
	return netserve.ConnOptions{
		MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: float64(c.Rate), Burst: c.Burst, Exempt: d.trusted(),
	}
}

func (d *daemon) gpcmPolicy() gpcm.Policy {
	c, catalog := d.cfg.GPCM, d.catalogue.Catalog()
	second := map[games.SecondLogin]presence.Policy{
		games.KickProfile: presence.KickProfile, games.KickUser: presence.KickUser, games.AllowSecond: presence.Allow,
	}
	return gpcm.Policy{
		Registrations: unlessZero(c.Registrations),
		Trusted:       d.trusted(),
		Rule: func(game string) gpcm.Rule {
			g, _ := catalog.Lookup(game) // an unknown game has no policy of its own
			return gpcm.Rule{
				SecondLogin:     second[g.Policy.SecondLogin.Or(games.SecondLogin(c.SecondLogin))],
				AutoAccept:      g.Policy.AutoAccept.Or(c.AutoAccept),
				SymmetricDelete: g.Policy.SymmetricDelete.Or(c.SymmetricDelete),
				NoUserID:        g.Policy.NoUserID.Or(c.NoUserID),
			}
		},
	}
}

func (d *daemon) openGPSP(ctx context.Context, l configs.Listener) (service, error) {
	ln, err := listen(ctx, "tcp4", l.Address)
	if err != nil {
		return service{}, err
	}
	c := d.cfg.GPSP
	gate := netserve.NewGate(d.gpspLimits())
	log := d.log.With().Str("service", "gpsp").Logger()
	s := gpsp.New(gpsp.Options{
		Store: d.store, Accounts: d.accounts, Hub: d.hub, Banned: d.bannedFromPresence, Verdicts: d.visits, Policy: d.gpspPolicy(), Idle: c.Idle,
		Conn: netserve.ConnOptions{Gate: gate, Write: c.Write, Grace: grace},
		Log:  log, Metrics: netserve.NewMetrics(d.metrics, "gpsp", gpsp.DropReasons()...), Registerer: d.metrics,
	})
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		reload: func() {
			gate.SetLimits(d.gpspLimits())
			s.SetPolicy(d.gpspPolicy())
		},
		close: closeOnce(ln),
	}, nil
}

func (d *daemon) gpspLimits() netserve.ConnOptions {
	c := d.cfg.GPSP
	return netserve.ConnOptions{
		MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: float64(c.Rate), Burst: c.Burst, Exempt: d.trusted(),
	}
}

func (d *daemon) gpspPolicy() gpsp.Policy {
	c := d.cfg.GPSP
	return gpsp.Policy{
		Lookups: unlessZero(c.Lookups), ValidPerNet: unlessZero(c.ValidPerNet), Registrations: unlessZero(c.Registrations), Trusted: d.trusted(), Private: c.Private,
	}
}
