package main

import (
	"context"
	"sync/atomic"

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
		Config: &d.cfg.Web, History: d.history, Trusted: d.trusted(),
		List: d.registry, Addresses: d.addresses, Games: d.catalogue.Catalog(), Domains: d.cfg.Games.Domains, Started: d.started,
		Version: version(),
		Log:     d.log.With().Str("service", "web").Logger(),
		Metrics: netserve.NewMetrics(d.metrics, "web", web.DropReasons()...), Registerer: d.metrics,
	}
	var private atomic.Bool // as the configuration has it now
	private.Store(d.cfg.GPSP.Private)
	opt.Accounts.Private = private.Load
	d.pageOptions(&opt)
	s := web.New(opt)
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		reload: func() {
			private.Store(d.cfg.GPSP.Private)
			s.Reload(&d.cfg.Web)
		},
		close: closeOnce(ln),
	}, nil
}
