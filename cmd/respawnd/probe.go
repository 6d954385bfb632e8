package main

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/probe"
)

// makeProber makes the prober, which other services give servers to. It asks
// nobody before its socket is open.
func (d *daemon) makeProber() {
	log := d.log.With().Str("service", "probe").Logger()
	opt := probe.Options{
		Registry: d.registry, Games: d.catalogue.Catalog(), Verdicts: d.book, Limits: d.probeLimits(),
		Own: d.isOwn, Broadcast: isBroadcast, Banned: d.banned,
		Log: log, Metrics: netserve.NewMetrics(d.metrics, "probe", probe.DropReasons()...), Registerer: d.metrics,
	}
	if d.geo != nil {
		opt.Locate = d.geo.locate
	}
	d.prober = probe.New(opt)
	d.statics = probe.NewStatics(d.prober, func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	}, log)
}

// openProbe opens the socket from which game servers are asked: any port.
func (d *daemon) openProbe(ctx context.Context) (service, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(d.probeHost(), "0"), netserve.ListenOptions{})
	if err != nil {
		return service{}, err
	}
	return service{
		name: "probe", key: "probe", address: conn.LocalAddr(), udp: localAddrs(conn),
		serve: func(ctx context.Context) error {
			if err := d.takeServers(ctx); err != nil {
				if ctx.Err() != nil {
					return nil // it was stopped before it began
				}
				return err
			}
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return d.prober.Serve(ctx, conn) })
			g.Go(func() error { d.statics.Run(ctx); return nil })
			return g.Wait()
		},
		reload: func() { d.prober.SetLimits(d.probeLimits()) },
		close:  conn.Close,
	}, nil
}

// probeHost returns the host that all UDP services listen on. If they differ it
// is empty, for all addresses: packets to a server leave from the one that leads
// there.
func (d *daemon) probeHost() string {
	host, first := "", true
	for _, l := range d.cfg.Listeners() {
		if !strings.HasPrefix(l.Network, "udp") {
			continue
		}
		h, _, _ := net.SplitHostPort(l.Address) // checked when it was loaded
		if !first && h != host {
			return ""
		}
		host, first = h, false
	}
	return host
}

func (d *daemon) probeLimits() probe.Limits {
	c := d.cfg.Probe
	l := probe.Limits{
		Every: c.Every, Rate: float64(c.Rate), Targets: c.MaxServers, Games: c.MaxGames,
		PerAddr: d.cfg.Master.MaxPerAddr, Exempt: d.trusted(),
	}
	if d.zanOn && d.cfg.ZanMaster.Query {
		l.Zandronum = d.cfg.ZanMaster.QueryEvery
	}
	return l
}

// ownAddresses returns whether an address is a UDP socket of this daemon. Game
// servers on the same machine have other ports.
func (d *daemon) ownAddresses() func(netip.AddrPort) bool {
	var own []netip.AddrPort
	for _, s := range d.services {
		own = append(own, s.udp...)
	}
	mine := machineAddrs()
	return func(a netip.AddrPort) bool {
		return slices.ContainsFunc(own, func(o netip.AddrPort) bool {
			if o.Port() != a.Port() {
				return false
			}
			return o.Addr() == a.Addr() || (o.Addr().IsUnspecified() && (a.Addr().IsLoopback() || slices.Contains(mine, a.Addr())))
		})
	}
}

// isOwn reports whether a UDP service of this daemon listens on an address. Before
// all sockets are open it does not know, and nobody asks.
func (d *daemon) isOwn(a netip.AddrPort) bool { return d.own != nil && d.own(a) }

// isBroadcast reports whether an address means a whole network that this machine
// is on now.
func isBroadcast(a netip.Addr) bool {
	for _, own := range addressesOrNone() {
		if own.Broadcast && own.Prefix.Bits() < 31 && own.Prefix.Contains(a) && a == lastOf(own.Prefix) {
			return true
		}
	}
	return false
}

// lastOf returns the last address of an IPv4 network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) | uint32(1<<(32-p.Bits())-1)
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// machineAddrs returns the addresses of this machine.
func machineAddrs() (out []netip.Addr) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr().Unmap())
		}
	}
	return out
}

// askOnce asks one server from a socket of its own until ctx ends.
func askOnce(ctx context.Context, protocol probe.Protocol, address string) (st probe.Status, err error) {
	to, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return st, err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return st, err
	}
	defer func() { _ = conn.Close() }()
	a := to.AddrPort()
	return probe.Ask(ctx, conn, netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), protocol)
}

// queryTimeout is how long a server has to answer a command, unless --timeout
// says otherwise.
const queryTimeout = 3 * time.Second
