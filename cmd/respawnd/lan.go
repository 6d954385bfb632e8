package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/lan"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe"
)

// openLAN opens the socket of the search on local networks: any port of the host
// that game servers report to. The one on which servers of Zandronum announce
// themselves may be taken by a launcher; the search continues without it.
func (d *daemon) openLAN(ctx context.Context) (service, error) {
	host := ""
	if d.cfg.QR2.Listen != "" {
		host, _, _ = net.SplitHostPort(d.cfg.QR2.Listen) // checked when it was loaded
	}
	conn, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return service{}, err
	}
	log := d.log.With().Str("service", "lan").Logger()
	zandronum, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, strconv.Itoa(lan.ZandronumPort)), netserve.ListenOptions{})
	if err != nil {
		log.Warn().Err(err).Msg("announcements of Zandronum servers are not heard")
	}
	finder := lan.New(lan.Options{
		Registry: d.registry, Games: d.catalogue.Catalog(), Verdicts: d.book, Every: d.cfg.LAN.Every,
		Banned: d.banned, Own: d.isOwn, Heard: d.watchZandronum,
		Found: func(a netip.AddrPort) bool {
			return d.prober.Watch(probe.Target{Address: a, Protocol: probe.A2S, Origin: master.FromLAN}) == nil
		},
		Log: log, Metrics: netserve.NewMetrics(d.metrics, "lan", lan.DropReasons()...), Registerer: d.metrics,
	})
	return service{
		name: "lan", key: "lan.discover", address: conn.LocalAddr(), udp: localAddrs(conn, zandronum),
		serve: func(ctx context.Context) error { return finder.Serve(ctx, conn, zandronum) },
		close: func() error {
			if zandronum != nil {
				return errors.Join(conn.Close(), zandronum.Close())
			}
			return conn.Close()
		},
	}, nil
}

// watchZandronum has a server of Zandronum asked that announced itself on a
// network of this machine. It is listed once it answers, and leaves the list
// after three visits without an answer, until it is heard again. One that
// reports to our own master keeps its record there.
func (d *daemon) watchZandronum(a netip.AddrPort) {
	err := d.prober.Watch(probe.Target{Address: a, Protocol: probe.Zandronum, Origin: master.FromLAN})
	if err != nil { // it is counted
		d.log.Debug().Str("service", "lan").Stringer("peer", a).Err(err).Msg("announced server not asked")
	}
}
