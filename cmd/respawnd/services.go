package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/probe"
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
	{"qr2", opens(func(c *services.Config) svc.Service { return &c.QR2 })},
	{"serverbrowse", opens(func(c *services.Config) svc.Service { return &c.ServerBrowse })},
	{"legacylist", opens(func(c *services.Config) svc.Service { return &c.LegacyList })},
	{"gpcm", opens(func(c *services.Config) svc.Service { return &c.GPCM })},
	{"gpsp", opens(func(c *services.Config) svc.Service { return &c.GPSP })},
	{"natneg", opens(func(c *services.Config) svc.Service { return &c.NATNeg })},
	{"zanmaster", opens(func(c *services.Config) svc.Service { return &c.ZanMaster })},
	{"valvemaster", opens(func(c *services.Config) svc.Service { return &c.ValveMaster })},
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
		if r.Keeper != nil {
			d.keepers = append(d.keepers, r.Keeper)
		}
		return s, nil
	}
}

// env returns what a service may use of the daemon.
func (d *daemon) env(name string) *svc.Env {
	env := &svc.Env{
		Name: name, Version: version(), DataDir: d.cfg.DataDir,
		List: d.registry, Games: d.catalogue.Catalog(), Rooms: d.catalogue.Rooms, Names: d.hosts, Addresses: d.addresses,
		Servers: d.book, Players: d.visits, Met: d.met, Own: d.isOwn, Asker: probe.NewAsker(d.prober, d.statics),
		Bans: d.bans, Store: d.store, Accounts: d.accounts, Hub: d.hub,
		Banned: d.bannedFrom, Trusted: d.isTrusted,
		Log: d.log.With().Str("service", name).Logger(), Registerer: d.metrics,
	}
	if d.cfg.NATNeg.Listen != "" {
		env.Further = d.cfg.NATNeg.ExtraListen
	}
	if d.geo != nil {
		env.Locate = d.geo.locate
	}
	for _, k := range d.keepers {
		if k.Messenger != nil { // its service is opened first
			env.Messenger = k.Messenger
		}
	}
	return env
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
		Operator: d.operator, Token: d.token, Config: d.cfg.Admin, Version: version(), Protocols: protocolNames(),
		Ready: d.readiness, Tail: d.tail, Gatherer: d.metrics, Registerer: d.metrics,
		Log: d.log.With().Str("service", "admin").Logger(),
	})
	return service{
		address: ln.Addr(),
		serve:   func(ctx context.Context) error { return s.Serve(ctx, ln) },
		close:   closeOnce(ln),
	}, nil
}

// listening returns when the daemon started, and the addresses of its services.
func (d *daemon) listening() (started time.Time, addresses map[string]string) {
	addresses = make(map[string]string)
	for _, svc := range d.services {
		addresses[svc.name] = svc.address.String()
	}
	return d.started, addresses
}
