package main

import (
	"context"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/web"
)

func (d *daemon) openWeb(ctx context.Context, l configs.Listener) (service, error) {
	ln, err := listen(ctx, "tcp", l.Address)
	if err != nil {
		return service{}, err
	}
	d.loadHistory()
	opt := web.Options{
		History:  d.history,
		Registry: d.registry, Addresses: d.addresses, Games: d.catalogue.Catalog(), Domains: d.cfg.Games.Domains, Started: d.started,
		PublicURL: d.cfg.Web.PublicURL, Version: version(),
		MaxConns: d.cfg.Web.MaxConns, MaxPerAddr: d.cfg.Web.MaxPerAddr, Policy: d.webPolicy(),
		Log:     d.log.With().Str("service", "web").Logger(),
		Metrics: netserve.NewMetrics(d.metrics, "web", web.DropReasons()...), Registerer: d.metrics,
	}
	d.pageOptions(&opt)
	s := web.New(opt)
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		reload:  func() { s.SetPolicy(d.webPolicy()) },
		close:   closeOnce(ln),
	}, nil
}

func (d *daemon) webPolicy() web.Policy {
	c := d.cfg.Web
	return web.Policy{
		Rate: c.Rate, Burst: c.Burst, MaxStreams: c.MaxStreams, MaxStreamsPerAddr: c.MaxStreamsPerAddr,
		TrustedProxies: c.TrustedProxies, Exempt: d.trusted(),
		Accounts: c.Accounts, Forms: c.Forms, Registrations: c.Registrations, Private: d.cfg.GPSP.Private,
	}
}
