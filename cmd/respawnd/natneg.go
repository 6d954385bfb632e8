package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/natneg"
)

// openNATNeg opens the address that clients know, a second socket on any port
// of it, and the further addresses.
func (d *daemon) openNATNeg(ctx context.Context, l configs.Listener) (service, error) {
	var sockets natneg.Sockets
	var opened []*netserve.PacketConn
	closeAll := func() error { return closePackets(opened) }
	open := func(address string) (*netserve.PacketConn, error) {
		c, err := netserve.ListenPackets(ctx, "udp4", address, netserve.ListenOptions{})
		if err == nil {
			opened = append(opened, c)
		}
		return c, err
	}
	var err error
	if sockets.Main, err = open(l.Address); err != nil {
		return service{}, err
	}
	address := netip.AddrPortFrom(sockets.Main.LocalAddr().Addr(), 0)
	if sockets.Second, err = open(address.String()); err != nil {
		return service{}, errors.Join(fmt.Errorf("second socket: %w", err), closeAll())
	}
	for _, extra := range d.cfg.NATNeg.ExtraListen {
		c, err := open(extra)
		if err != nil {
			return service{}, errors.Join(fmt.Errorf("natneg.extra_listen: %w", err), closeAll())
		}
		sockets.Extra = append(sockets.Extra, c)
	}
	log := d.log.With().Str("service", "natneg").Logger()
	metrics := netserve.NewMetrics(d.metrics, "natneg", natneg.DropReasons()...)
	negotiator := natneg.New(natneg.Options{
		Met:   d.met,
		Games: d.catalogue.Catalog(), Banned: d.bannedFromAll, Verdicts: d.visits, Policy: d.natnegPolicy(),
		Addresses: machineAddresses, Given: d.givenPlayer,
		Packets: netserve.PacketOptions{Log: log, Metrics: metrics}, Log: log, Metrics: metrics, Registerer: d.metrics,
	})
	return service{
		address: sockets.Main.LocalAddr(), udp: localAddrs(opened...),
		serve:  func(ctx context.Context) error { return negotiator.Serve(ctx, sockets) },
		reload: func() { negotiator.SetPolicy(d.natnegPolicy()) },
		close:  closeAll,
	}, nil
}

// machineAddresses returns the IPv4 addresses of this machine but those of cards
// that programs make: what is sent from these is often rewritten on the way.
func machineAddresses() (out []netip.Addr) {
	all, err := hostnet.Addresses()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if !a.Virtual() {
			out = append(out, a.Addr())
		}
	}
	return out
}

// met notes that players got to a server by NAT negotiation, if there is one at
// the address.
func (d *daemon) met(a netip.AddrPort) {
	if d.intake != nil {
		d.intake.Negotiated(a)
	}
}

func (d *daemon) natnegPolicy() natneg.Policy {
	c := d.cfg.NATNeg
	return natneg.Policy{
		MaxOpen: c.MaxOpen, MaxPerAddr: c.MaxPerAddr, AssumeUnrestricted: c.AssumeUnrestricted,
		Unproved: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.Rate), Burst: c.Burst}),
		Trusted:  d.trusted(),
	}
}
