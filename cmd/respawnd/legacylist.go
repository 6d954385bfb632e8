package main

import (
	"context"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master/legacylist"
)

func (d *daemon) openLegacyList(ctx context.Context, l configs.Listener) (service, error) {
	ln, err := listen(ctx, "tcp4", l.Address)
	if err != nil {
		return service{}, err
	}
	c := d.cfg.LegacyList
	gate := netserve.NewGate(d.legacyLimits())
	s := legacylist.New(legacylist.Options{
		Registry: d.registry, Games: d.catalogue.Catalog(), Rooms: d.catalogue.Rooms, Banned: d.banned, Verdicts: d.visits,
		Addresses:      d.addresses,
		StrictValidate: c.StrictValidate, LenientFilter: c.LenientFilter, RequestTime: c.RequestTime,
		Conn:       netserve.ConnOptions{Gate: gate, Grace: grace},
		Log:        d.log.With().Str("service", "legacylist").Logger(),
		Metrics:    netserve.NewMetrics(d.metrics, "legacylist", legacylist.DropReasons()...),
		Registerer: d.metrics,
	})
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		reload:  func() { gate.SetLimits(d.legacyLimits()) },
		close:   closeOnce(ln),
	}, nil
}

func (d *daemon) legacyLimits() netserve.ConnOptions {
	c := d.cfg.LegacyList
	return netserve.ConnOptions{
		MaxConns: c.MaxConns, MaxPerAddr: c.MaxPerAddr, Rate: float64(c.Rate), Burst: c.Burst, Exempt: d.trusted(),
	}
}
