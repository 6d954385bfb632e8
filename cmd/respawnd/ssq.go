package main

import (
	"context"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/ssq"
)

func (d *daemon) openSSQ(ctx context.Context, l configs.Listener) (service, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", l.Address, netserve.ListenOptions{})
	if err != nil {
		return service{}, err
	}
	log := d.log.With().Str("service", "ssq").Logger()
	metrics := netserve.NewMetrics(d.metrics, "ssq", ssq.DropReasons()...)
	s := ssq.New(ssq.Options{
		Registry: d.registry, Addresses: d.addresses, Games: d.catalogue.Catalog(), Verdicts: d.book, Banned: d.banned, Version: version(),
		Policy:  d.ssqPolicy(),
		Packets: netserve.PacketOptions{Log: log, Metrics: metrics}, Log: log, Metrics: metrics, Registerer: d.metrics,
	})
	return service{
		address: conn.LocalAddr(), udp: localAddrs(conn),
		serve:  func(ctx context.Context) error { return s.Serve(ctx, conn) },
		reload: func() { s.SetPolicy(d.ssqPolicy()) },
		close:  conn.Close,
	}, nil
}

func (d *daemon) ssqPolicy() ssq.Policy {
	c := d.cfg.SSQ
	return ssq.Policy{Password: c.Password, BytesPerAddr: c.BytesPerAddr, BytesPerNet: c.BytesPerNet, Trusted: d.trusted()}
}
