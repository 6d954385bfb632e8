package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/qr2"
)

// service is one that has its socket open.
type service struct {
	name    string
	key     string
	address fmt.Stringer
	udp     []netip.AddrPort // its UDP sockets, where no game server can be
	serve   func(context.Context) error
	reload  func() // takes over what d.cfg says now; nil: nothing of it may change
	close   func() error
}

// opener opens the socket of a service and returns how to serve it.
type opener func(d *daemon, ctx context.Context, l configs.Listener) (service, error)

// built are the services of this version. Their order is the order of start.
var built = []struct {
	name string
	open opener
}{
	{"qr2", (*daemon).openQR2},
	{"serverbrowse", opens(func(c *services.Config) svc.Service { return &c.ServerBrowse })},
	{"legacylist", opens(func(c *services.Config) svc.Service { return &c.LegacyList })},
	{"gpcm", opens(func(c *services.Config) svc.Service { return &c.GPCM })},
	{"gpsp", opens(func(c *services.Config) svc.Service { return &c.GPSP })},
	{"natneg", opens(func(c *services.Config) svc.Service { return &c.NATNeg })},
	{"zanmaster", (*daemon).openZanMaster},
	{"valvemaster", (*daemon).openValveMaster},
	{"ssq", opens(func(c *services.Config) svc.Service { return &c.SSQ })},
	{"web", (*daemon).openWeb},
	{"admin", (*daemon).openAdmin},
	{"dns", opens(func(c *services.Config) svc.Service { return &c.DNS })},
}

// opens returns how to open a service that opens itself from its section.
func opens(section func(*services.Config) svc.Service) opener {
	return func(d *daemon, ctx context.Context, l configs.Listener) (service, error) {
		r, err := section(d.cfg).Open(ctx, d.env(l.Service))
		if err != nil {
			return service{}, err
		}
		s := service{address: r.Address, udp: r.UDP, serve: r.Serve, close: r.Close}
		if r.Reload != nil {
			s.reload = func() { r.Reload(section(d.cfg)) }
		}
		return s, nil
	}
}

// env returns what a service may use of the daemon.
func (d *daemon) env(name string) *svc.Env {
	env := &svc.Env{
		Name: name, Version: version(),
		List: d.registry, Games: d.catalogue.Catalog(), Rooms: d.catalogue.Rooms, Names: d.hosts, Addresses: d.addresses,
		Met: d.met, Servers: d.book, Players: d.visits,
		Store: d.store, Accounts: d.accounts, Hub: d.hub,
		Banned: d.bannedFrom, Trusted: d.isTrusted,
		Log: d.log.With().Str("service", name).Logger(), Registerer: d.metrics,
	}
	if d.intake != nil { // it is opened first
		env.Messenger = d.intake
	}
	return env
}

// met notes that players got to a server by NAT negotiation, if there is one at
// the address.
func (d *daemon) met(a netip.AddrPort) {
	if d.intake != nil {
		d.intake.Negotiated(a)
	}
}

// openServices opens every socket, or none: all failures are told at once, each
// with its key.
func (d *daemon) openServices(ctx context.Context) error {
	listeners := make(map[string]configs.Listener)
	for _, l := range d.cfg.Listeners() {
		if _, ok := listeners[l.Service]; !ok {
			listeners[l.Service] = l
		}
	}
	var errs []error
	for _, b := range built {
		l, on := listeners[b.name]
		if !on {
			continue
		}
		s, err := b.open(d, ctx, l)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", l.Key, err))
			continue
		}
		s.name, s.key = b.name, l.Key
		d.services = append(d.services, s)
	}
	if d.cfg.LAN.Discover {
		s, err := d.openLAN(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("lan.discover: %w", err))
		} else {
			d.services = append(d.services, s)
		}
	}
	s, err := d.openProbe(ctx)
	if err != nil {
		errs = append(errs, fmt.Errorf("probe: %w", err))
	} else {
		d.services = append(d.services, s)
	}
	d.own = d.ownAddresses()
	return errors.Join(errs...)
}

// localAddrs returns the addresses of sockets, of which some may be nil.
func localAddrs(conns ...*netserve.PacketConn) (out []netip.AddrPort) {
	for _, c := range conns {
		if c != nil {
			out = append(out, c.LocalAddr())
		}
	}
	return out
}

// notBuilt returns the keys of services that are configured and not built, and
// how many services are configured and built.
func notBuilt(cfg *services.Config) (keys []string, on int) {
	have := make(map[string]bool, len(built))
	for _, b := range built {
		have[b.name] = true
	}
	counted := make(map[string]bool, len(built))
	for _, l := range cfg.Listeners() {
		switch {
		case !have[l.Service]:
			keys = append(keys, l.Key)
		case !counted[l.Service]: // one may have several addresses
			counted[l.Service] = true
			on++
		}
	}
	return keys, on
}

func (d *daemon) openQR2(ctx context.Context, l configs.Listener) (service, error) {
	c := d.cfg.QR2
	conn, err := netserve.ListenPackets(ctx, "udp4", l.Address, netserve.ListenOptions{Sockets: c.Sockets, ReadBuffer: c.ReadBuffer})
	if err != nil {
		return service{}, err
	}
	probes, err := d.openProbes(ctx, conn.LocalAddr().Addr())
	if err != nil {
		return service{}, errors.Join(fmt.Errorf("socket of the reachability probe: %w", err), conn.Close())
	}
	opened := append([]*netserve.PacketConn{conn}, probes...)
	log := d.log.With().Str("service", "qr2").Logger()
	if got, _ := conn.Buffers(); got > 0 && got < c.ReadBuffer {
		log.Info().Int("wanted", c.ReadBuffer).Int("granted", got).Msg("the system caps the receive buffer (net.core.rmem_max on Linux); bursts may lose packets")
	}
	metrics := netserve.NewMetrics(d.metrics, "qr2", qr2.DropReasons()...)
	opt := qr2.Options{
		Registry: d.registry, Games: d.catalogue.Catalog(), Verdicts: d.book, Banned: d.banned,
		Own:        d.isOwn,
		Policy:     d.qr2Policy(),
		Packets:    netserve.PacketOptions{Readers: c.Readers, Log: log, Metrics: metrics},
		Log:        log,
		Metrics:    metrics,
		Registerer: d.metrics,
	}
	if d.geo != nil {
		opt.Locate = d.geo.locate
	}
	d.intake = qr2.New(opt)
	return service{
		address: conn.LocalAddr(), udp: localAddrs(opened...),
		serve: func(ctx context.Context) error {
			if len(probes) == 0 {
				return d.intake.Serve(ctx, conn, nil)
			}
			return d.intake.Serve(ctx, conn, probes[0], probes[1:]...)
		},
		reload: func() { d.intake.SetPolicy(d.qr2Policy()) },
		close:  func() error { return closePackets(opened) },
	}, nil
}

// openProbes opens the sockets of the reachability probe, on any ports: one on the
// address of the intake, since hosts may not reach others, and one on each further
// address of natneg.extra_listen, which is unused while natneg.listen is empty. None
// are opened if hosts are not probed.
func (d *daemon) openProbes(ctx context.Context, intake netip.Addr) (opened []*netserve.PacketConn, err error) {
	if !d.cfg.QR2.Probe {
		return nil, nil
	}
	addresses := []netip.Addr{intake}
	for _, extra := range d.cfg.NATNeg.ExtraListen {
		if d.cfg.NATNeg.Listen == "" {
			break
		}
		a, err := netip.ParseAddrPort(extra)
		if err == nil && a.Addr().Is4() && !a.Addr().IsUnspecified() && !slices.Contains(addresses, a.Addr()) {
			addresses = append(addresses, a.Addr())
		}
	}
	for _, a := range addresses {
		c, err := netserve.ListenPackets(ctx, "udp4", netip.AddrPortFrom(a, 0).String(), netserve.ListenOptions{})
		if err != nil {
			return nil, errors.Join(err, closePackets(opened))
		}
		opened = append(opened, c)
	}
	return opened, nil
}

// closePackets closes sockets.
func closePackets(opened []*netserve.PacketConn) error {
	var errs []error
	for _, c := range opened {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (d *daemon) qr2Policy() qr2.Policy {
	c := d.cfg.QR2
	return qr2.Policy{
		StrictAvailability: c.StrictAvailability,
		Maintenance:        c.Maintenance,
		Refuse:             c.AddError,
		MaxPending:         c.MaxPending,
		Unproved:           netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		Trusted:            d.trusted(),
	}
}

// listen opens a TCP listener.
func listen(ctx context.Context, network, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, network, address)
}

// closeOnce closes a listener that its service may have closed already.
func closeOnce(ln net.Listener) func() error {
	return func() error {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

func (d *daemon) openAdmin(ctx context.Context, l configs.Listener) (service, error) {
	ln, err := listen(ctx, "tcp", l.Address)
	if err != nil {
		return service{}, err
	}
	s := admin.New(admin.Options{
		Operator: d.operator, Token: d.token, Names: d.cfg.Admin.Names, Version: version(), Protocols: protocolNames(),
		Ready: d.readiness, Status: d.status, Tail: d.tail, Gatherer: d.metrics, Registerer: d.metrics,
		Log: d.log.With().Str("service", "admin").Logger(),
	})
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		close:   closeOnce(ln),
	}, nil
}

// status is what the admin API tells about the daemon.
func (d *daemon) status() admin.Status {
	s := admin.Status{
		Version: version(), Go: runtime.Version(), Started: d.started.UTC().Format(timeFormat),
		Services: make(map[string]string), Servers: d.registry.Counts(), Bans: len(d.bansInForce()), Sessions: d.hub.Count(),
	}
	for _, svc := range d.services {
		s.Services[svc.name] = svc.address.String()
	}
	return s
}
