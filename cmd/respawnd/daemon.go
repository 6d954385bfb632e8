package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/presence"
	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/webhook"
)

// daemon holds what the services share, and the services.
type daemon struct {
	// cfg is the configuration in force. A reload replaces it: once the daemon
	// runs, only the goroutine that reloads may read it. Others get values.
	cfg     *services.Config
	log     zerolog.Logger
	tail    *logtail.Ring // its last lines
	console bool          // the log is for a person at the screen
	reload  func() (*services.Config, []string, error)
	notify  notifier

	store     *bolt.Store
	bans      *bans.Table
	catalogue *operator.Catalogue
	geo       *geoIP
	hosts     *games.Names  // host names that lead to this machine
	book      *verdicts.Log // on servers
	visits    *verdicts.Log // on players
	registry  *master.Registry
	addresses *advertise.Table // which of them askers are given
	ruled     chan struct{}    // of capacity 1: its rules have changed
	reports   *master.Source   // reads the reports of QR2 that were saved
	accounts  *accounts.Service
	metrics   *prometheus.Registry
	operator  *operator.Local
	token     string

	history *history.Book // of numbers of players; nil if the pages are off

	hub      *presence.Local
	webhooks *webhook.Dispatcher
	keepers  []*svc.Keeper // of the services that list servers; complete before the daemon serves
	zanOn    bool          // the service is on

	prober  *probe.Prober
	statics *probe.Statics
	// configured is servers.static as it was read last.
	configured atomic.Pointer[services.Servers]
	// networks is section net as it was read last, for isTrusted.
	networks atomic.Pointer[services.Net]
	own      func(netip.AddrPort) bool // addresses that services listen on; nil until all are open

	listings sync.Mutex // held while the store's word on single servers is taken over
	services []service
	started  time.Time
	serving  atomic.Bool
	writable *storeWatch
	ran      bool   // the list is worth saving
	saved    uint64 // revision of the list that is saved; 0: none is

	saveEvery atomic.Int64 // nanoseconds; a reload may change it
}

// storeWait is how long a starting daemon waits for the store: another one may
// just be stopping.
const storeWait = 2 * time.Second

// banSweepEvery is how often bans that have long been over are removed from the
// store, and servers and webhooks hear of those that ended.
const banSweepEvery = time.Hour

// open gets everything ready and opens every socket. After an error the caller
// closes the daemon.
func (d *daemon) open(ctx context.Context) error {
	d.started = time.Now()
	d.configured.Store(&d.cfg.Servers)
	d.networks.Store(&d.cfg.Net)
	d.zanOn = d.cfg.ZanMaster.Listen != ""
	err := errors.Join(checkDNS(d.cfg), d.cfg.DNS.Describe().Check("", svc.AtStart))
	if err != nil {
		return err
	}
	d.hosts, _ = serviceNames(d.cfg) // checkDNS has reported the error, if it matters
	if d.store, err = openStore(ctx, d.cfg, storeWait, d.log); err != nil {
		return err
	}
	d.writable = &storeWatch{store: d.store, room: roomBeside(storePath(d.cfg), d.cfg.DataDir), log: d.log}
	d.metrics = prometheus.NewRegistry()
	d.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.book = verdicts.NewLog(d.log, 0)
	d.visits = verdicts.NewLog(zerolog.Nop(), 0) // the services log what there is to log
	d.bans = bans.New(d.store)
	d.catalogue = &operator.Catalogue{Embedded: configs.Games, Store: d.store}
	d.registry = master.NewRegistry(d.listLimits())
	d.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "respawnd_master_replaced_total", Help: "Servers that newcomers replaced in a list that was nearly full.",
	}, func() float64 { return float64(d.registry.ReplacedTotal()) }))
	d.addresses = advertise.New(d.registry)
	d.ruled = make(chan struct{}, 1)
	d.addresses.SetRules(advertised(d.cfg))
	d.addresses.SetNetworks(addressesOrNone())
	d.reports = master.NewSource(qr2.NewDecoder(d.registry))
	if err := d.loadState(ctx); err != nil {
		return err
	}
	d.hub = presence.New(d.store, presence.Options{
		MaxSessions: d.cfg.GPCM.MaxConns, Registerer: d.metrics, Log: d.log.With().Str("service", "presence").Logger(),
	})
	d.operator = &operator.Local{
		Store: d.store, Table: d.bans, Catalogue: d.catalogue,
		DataDir: d.cfg.DataDir, StoreName: storeName, Files: backupFiles(d.cfg), Version: version(),
		Registry: d.registry, Book: d.book, Visits: d.visits,
		Unlisted: d.unlistedServers, Listening: d.listening,
		OpenAccounts: func(context.Context) (*accounts.Service, error) { return d.accounts, nil }, Sessions: d.hub,
		StaticServers: func() []storage.AddedServer { return staticServers(d.configured.Load()) }, CheckAdded: d.checkAdded,
		AskedServers:   d.askedServers,
		ServersChanged: d.takeServers,
	}
	d.bans.OnChange(d.enforceBans)
	if err := d.openWebhooks(); err != nil {
		return err
	}
	d.makeProber()
	d.checkOpenFiles()
	return d.openServices(ctx)
}

// loadState reads what the store and the files next to it hold.
func (d *daemon) loadState(ctx context.Context) error {
	var errs []error
	if err := d.bans.Load(ctx); err != nil {
		errs = append(errs, fmt.Errorf("bans in the store: %w", err))
	}
	errs = append(errs, d.catalogue.Load(ctx, d.cfg.Games.File))
	if d.cfg.GeoIP.File != "" {
		geo, err := openGeoIP(d.cfg.GeoIP.File)
		if err != nil {
			errs = append(errs, err)
		}
		d.geo = geo
	}
	token, created, err := admin.LoadToken(d.cfg.AdminTokenFile())
	if err != nil {
		errs = append(errs, fmt.Errorf("admin.token_file: %w", err))
	}
	d.token = token
	if created {
		d.log.Info().Str("file", d.cfg.AdminTokenFile()).Msg("admin token made")
	}
	if d.accounts, err = openAccounts(ctx, d.cfg, d.store, d.metrics, d.log); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := d.hideServers(ctx); err != nil {
		return err
	}
	return d.restoreList(ctx)
}

func (d *daemon) listLimits() master.Limits {
	return master.Limits{
		Servers: d.cfg.Master.MaxServers,
		PerAddr: d.cfg.Master.MaxPerAddr,
		PerNet:  d.cfg.Master.MaxPerNet,
		Expire:  d.cfg.QR2.Expire,
		Exempt:  d.exempt(),
	}
}

// trusted returns whether an address is in net.trusted.
func (d *daemon) trusted() func(netip.Addr) bool {
	nets := d.cfg.Net.Trusted
	return func(a netip.Addr) bool {
		return slices.ContainsFunc(nets, func(p netip.Prefix) bool { return p.Contains(a) })
	}
}

// isTrusted returns whether an address is in net.trusted, as it is now.
func (d *daemon) isTrusted(a netip.Addr) bool {
	return slices.ContainsFunc(d.networks.Load().Trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

// banned returns whether an address is banned from the lists.
func (d *daemon) banned(a netip.Addr) bool { return d.bannedFrom(storage.ScopeLists, a) }

func (d *daemon) bannedFrom(scope storage.Scope, a netip.Addr) bool {
	_, yes := d.bans.Check(scope, a, time.Now())
	return yes
}

// bannedServer returns whether servers of an origin may not be listed from an
// address. Zandronum's master sees to its own servers: it knows who is exempt.
func (d *daemon) bannedServer(origin master.Origin, a netip.Addr) bool {
	if origin == master.FromZandronum {
		return !d.zanOn && d.bannedFrom(storage.ScopeZandronum, a)
	}
	return d.banned(a)
}

// enforceBans takes servers off the list that have been banned.
func (d *daemon) enforceBans() {
	gone := d.registry.RemoveFunc(func(s *master.Server) bool { return d.bannedServer(s.Origin, s.Key.Source.Addr()) })
	for _, s := range gone {
		d.book.Note(s.Origin.String(), s.Key.Source, s.Game, verdicts.Banned)
	}
}

// run serves until ctx ends or a service fails; the first failure stops the
// others.
func (d *daemon) run(ctx context.Context) error {
	d.ran = true
	d.saveEvery.Store(int64(d.cfg.Master.SaveEvery))
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // before anybody is told that we are ready
	defer signal.Stop(hup)
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range d.services {
		g.Go(func() error {
			if err := s.serve(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.key, err)
			}
			if ctx.Err() == nil {
				return fmt.Errorf("%s: the service ended", s.key)
			}
			return nil
		})
	}
	g.Go(func() error { return d.registry.Run(ctx, d.expired) })
	g.Go(func() error { d.reportReplaced(ctx); return nil })
	g.Go(func() error { d.saveList(ctx); return nil })
	g.Go(func() error { d.sweepBans(ctx); return nil })
	g.Go(func() error { d.writable.run(ctx); return nil })
	g.Go(func() error { d.keepAddresses(ctx); return nil })
	if d.history != nil {
		path := d.historyPath()
		g.Go(func() error { d.keepHistory(ctx, path); return nil })
	}
	g.Go(func() error { return d.webhooks.Run(ctx) })
	d.announce() // before anything can change the configuration
	g.Go(func() error { d.reloadOn(ctx, hup); return nil })
	err := g.Wait()
	d.serving.Store(false)
	return err
}

// announce says what is served where, and then the one line that tools wait
// for.
func (d *daemon) announce() {
	ports := make(map[string]uint16, len(d.services))
	for _, s := range d.services {
		if a, err := netip.ParseAddrPort(s.address.String()); err == nil {
			ports[s.name] = a.Port()
		}
		d.log.Info().Str("service", s.name).Stringer("address", s.address).Msg("listening")
	}
	d.book.SetPorts(ports)
	if keys, _ := notBuilt(d.cfg); len(keys) > 0 {
		d.log.Info().Strs("keys", keys).Msg("these services are configured but not part of this version yet")
	}
	d.serving.Store(true)
	d.log.Info().Str("version", version()).Str("data_dir", d.cfg.DataDir).Int("games", d.catalogue.Catalog().Len()).Msg("ready")
	d.tell(notifyReady, "serving")
	d.tellGuests()
}

// tell tells the service manager; one that cannot be told is the operator's
// business, not a reason to stop.
func (d *daemon) tell(state, status string) {
	if err := d.notify.tell(state, status); err != nil {
		d.log.Warn().Err(err).Msg("the service manager was not told")
	}
}

// warn logs what Load has to say about a configuration that it accepts.
func (d *daemon) warn(warnings []string) {
	for _, w := range warnings {
		d.log.Warn().Str("warning", w).Msg("configuration")
	}
}

var errNotServing = errors.New("not serving")

func (d *daemon) readiness() error {
	if !d.serving.Load() {
		return errNotServing
	}
	return d.writable.err()
}

// close saves the list and closes what is open, the store last.
func (d *daemon) close() error {
	var errs []error
	for _, s := range d.services {
		if err := s.close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.key, err))
		}
	}
	if d.store != nil {
		if d.ran {
			errs = append(errs, d.saveLast())
		}
		errs = append(errs, d.store.Close())
	}
	if d.geo != nil {
		errs = append(errs, d.geo.Close())
	}
	return errors.Join(errs...)
}

func (d *daemon) sweepBans(ctx context.Context) {
	began := time.Now()
	watch := clock.NewWatch(began)
	tick := time.NewTicker(banSweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			d.sweepBansOnce(ctx, watch, now, now.Sub(began))
		}
	}
}

// sweepBansOnce removes bans that have long been over, unless the clock may be
// wrong.
func (d *daemon) sweepBansOnce(ctx context.Context, watch *clock.Watch, now time.Time, running time.Duration) {
	d.bans.Recheck(now)
	if jump, steady := watch.Steady(now, running); !steady {
		d.log.Warn().Stringer("by", jump.Round(time.Second)).
			Msg("the clock of this machine jumped; nothing that is over is deleted before it runs evenly")
		return
	}
	if n, err := d.bans.Sweep(ctx, clock.Deletable(now)); err != nil {
		d.log.Error().Err(err).Msg("bans that are over were not removed")
	} else if n > 0 {
		d.log.Info().Int("bans", n).Msg("removed bans that have long been over")
	}
}

// bansInForce returns the bans that are not over.
func (d *daemon) bansInForce() []storage.Ban { return d.bans.InForce(time.Now()) }

// reloadOn reads games, bans and limits again on each signal, and tells the
// service manager of it and of the end.
func (d *daemon) reloadOn(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			d.tell(notifyStopping, "stopping")
			return
		case <-hup:
			d.tell(notifyReloading, "reloading")
			d.reloadNow(ctx)
			d.tell(notifyReady, "serving")
		}
	}
}

// reloadNow takes over what may change while the daemon runs, see
// configs.Reload. It loads and checks everything before it changes anything: a
// mistake leaves everything as it was.
func (d *daemon) reloadNow(ctx context.Context) {
	cfg, warnings, err := d.reload()
	if err != nil {
		_ = report(d.log, err, "not reloaded")
		return
	}
	d.warn(warnings)
	next, restart := configs.Reload(d.cfg, cfg)
	hooks, err := d.loadAll(ctx, cfg)
	if err != nil {
		_ = report(d.log, err, "not reloaded")
		return
	}
	d.cfg = next
	d.saveEvery.Store(int64(next.Master.SaveEvery))
	d.store.LimitAudit(next.Admin.AuditEntries)
	d.registry.SetLimits(d.listLimits())
	d.setRules(advertised(next))
	d.webhooks.SetHooks(hooks)
	d.configured.Store(&next.Servers)
	d.networks.Store(&next.Net)
	if err := d.takeServers(ctx); err != nil {
		d.log.Error().Err(err).Msg("the servers that an operator added or hid cannot be read")
	}
	for _, s := range d.services {
		if s.reload != nil {
			s.reload()
		}
	}
	if len(restart) > 0 {
		d.log.Warn().Strs("keys", restart).Msg("these keys changed; a restart takes them over")
	}
	d.log.Info().Int("games", d.catalogue.Catalog().Len()).Int("bans", len(d.bansInForce())).Msg("reloaded games, bans and limits")
}
