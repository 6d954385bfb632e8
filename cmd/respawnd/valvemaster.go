package main

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/valvemaster"
)

// openValveMaster opens the master for servers that are asked over A2S.
func (d *daemon) openValveMaster(ctx context.Context, l configs.Listener) (service, error) {
	c := d.cfg.ValveMaster
	conn, err := netserve.ListenPackets(ctx, "udp4", l.Address, netserve.ListenOptions{Sockets: c.Sockets, ReadBuffer: c.ReadBuffer})
	if err != nil {
		return service{}, err
	}
	log := d.log.With().Str("service", "valvemaster").Logger()
	metrics := netserve.NewMetrics(d.metrics, "valvemaster", valvemaster.DropReasons()...)
	s := valvemaster.New(valvemaster.Options{
		Registry: d.registry, Addresses: d.addresses, Targets: valveTargets{d.prober}, Banned: d.banned, Verdicts: d.book,
		Policy:  d.valvePolicy(),
		Packets: netserve.PacketOptions{Readers: c.Readers, Log: log, Metrics: metrics},
		Log:     log, Metrics: metrics, Registerer: d.metrics,
	})
	d.unlisted = append(d.unlisted, func() []admin.Listed { return waitingServers(s, d.book) })
	return service{
		address: conn.LocalAddr(), udp: localAddrs(conn),
		serve:  func(ctx context.Context) error { return s.Serve(ctx, conn) },
		reload: func() { s.SetPolicy(d.valvePolicy()) },
		close:  conn.Close,
	}, nil
}

// waitingServers returns the servers that send heartbeats and do not answer A2S,
// or are not taken by the list. Which game they have nobody knows.
func waitingServers(valve *valvemaster.Server, book *verdicts.Book) (list []admin.Listed) {
	for _, w := range valve.Waiting() {
		why := verdicts.Unanswered
		if w.Answers {
			why = proberVerdict(book, w.Addr)
		}
		list = append(list, admin.Listed{
			Origin: master.FromValve.String(), Address: w.Addr, Source: w.Addr,
			Hidden: why.String(), First: w.First.UTC(), Last: w.Seen.UTC(),
		})
	}
	return list
}

// proberVerdict returns the last verdict about a server that answers.
func proberVerdict(book *verdicts.Book, a netip.AddrPort) verdicts.Verdict {
	last := verdicts.Entry{Verdict: verdicts.Asked}
	for _, e := range book.Of(a.Addr()) {
		if e.Service == "probe" && e.Addr == a && e.Last.After(last.Last) {
			last = e
		}
	}
	return last.Verdict
}

// valveTargets has servers that sent heartbeats asked over A2S.
type valveTargets struct{ prober *probe.Prober }

func (t valveTargets) Watch(a netip.AddrPort) bool {
	return t.prober.Watch(probe.Target{Address: a, Protocol: probe.A2S, Origin: master.FromValve}) == nil
}

func (t valveTargets) Answers(a netip.AddrPort) bool { return t.prober.Answers(a) }

func (t valveTargets) Unwatch(a netip.AddrPort) { t.prober.Unwatch(a, master.FromValve) }

func (d *daemon) valvePolicy() valvemaster.Policy {
	c := d.cfg.ValveMaster
	return valvemaster.Policy{
		Timeout:        c.Timeout,
		ServersPerAddr: unlessZero(c.MaxPerAddr),
		PagesPerAddr:   unlessZero(c.PagesPerAddr),
		PagesPerNet:    unlessZero(c.PagesPerNet),
		KeyedPages:     unlessZero(c.KeyedPages),
		Unproved:       netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		Trusted:        d.trusted(),
	}
}
