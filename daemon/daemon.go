package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/saved"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webhook"
)

// storeWait is how long a starting daemon waits for the store, which another
// one may hold that is just stopping.
const storeWait = 2 * time.Second

// Options are the parts of a daemon. All but Notify and Reload are required.
type Options struct {
	Config Config
	// Load reads the configuration again, with warnings, when the daemon reloads. The
	// result must have the type of Config.
	Load    func() (Config, []string, error)
	Version string
	Log     zerolog.Logger
	Tail    *logtail.Ring // the last lines of the log
	Console bool          // the log goes to a terminal
	Notify  Notify        // the service manager; nil: there is none
	// Reload makes the daemon reload its configuration, once for each value;
	// nil: never.
	Reload <-chan os.Signal
}

// Daemon is a daemon whose sockets are open.
type Daemon struct {
	opt      Options
	log      zerolog.Logger
	settings atomic.Pointer[settings] // in force; a reload replaces it
	started  time.Time
	master   string // see part.Self

	shared
	node      node // of the cluster
	callbacks callbacks
	asker     lateAsker
	chat      lateChat
	relay     lateRelay
	guests    netserve.Guests
	meetings  meeting.Recorder
	recorder  dialogue.Recorder
	masters   func() []operator.OtherMaster // nil: no service reads other masters
	operator  *operator.Local
	webhooks  *webhook.Dispatcher
	saved     *saved.List
	listings  *listings
	local     *localWatch
	writable  *storeWatch
	reloads   *reloads

	running []opened                  // complete before the daemon serves
	own     func(netip.AddrPort) bool // sockets of running; nil until all are open
	serving atomic.Bool
	ran     bool // the daemon has served, so the list is saved
}

// Open gets everything ready and opens every socket. After an error nothing is
// open.
func Open(ctx context.Context, opt Options) (*Daemon, error) {
	d := &Daemon{opt: opt, log: opt.Log, started: time.Now(), master: strings.ToLower(rand.Text()[:16]), chat: lateChat{service.NoChat{}}, relay: lateRelay{service.NoRelay{}}}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) open(ctx context.Context) error {
	s := newSettings(d.opt.Config)
	d.settings.Store(s)
	err := s.checkNames()
	if err != nil {
		return err
	}
	d.metrics = prometheus.NewRegistry()
	d.store, err = openStore(ctx, s, engine.Options{
		LockWait: storeWait, Patient: true, CheckLater: true, Node: s.node(), Log: d.log, Registerer: d.metrics,
	})
	if err != nil {
		return err
	}
	if err := s.checkStart(); err != nil {
		return err
	}
	if err := d.joinCluster(ctx, s); err != nil {
		return err
	}
	revisions, err := d.makeTables(ctx)
	if err != nil {
		return err
	}
	d.writable = newStoreWatch(d.store, diskOf(s), d.log)
	d.makeShared(s, d.log)
	d.measure(s)
	d.callbacks.verdicts = d.servers
	d.recorder.Logs, d.recorder.Program, d.recorder.Protocol = []*verdicts.Log{d.servers, d.players}, d.opt.Version, s.dialogue
	d.meetings.Follow(d.relayed)
	d.registry.SetLimits(d.limits(s))
	d.makeList(s)
	if err := d.load(ctx, s); err != nil {
		return err
	}
	d.makeOperator(s)
	d.makeCourier()
	d.followTables(revisions)
	d.bans.OnChange(d.enforceBans)
	d.bans.OnChange(d.recheckChat)
	d.chatRules.OnChange(d.recheckChat)
	if err := d.makeWebhooks(s); err != nil {
		return err
	}
	s.checkOpenFiles(d.log)
	if err := d.openServices(ctx, s); err != nil {
		return err
	}
	return d.compareKeys(ctx, s)
}

func (d *Daemon) limits(s *settings) master.Limits {
	l := s.limits()
	l.Exempt = func(a netip.Addr) bool { return s.trusted(a) || d.callbacks.exempt(a) }
	return l
}

// makeList makes the parts that save, restore and hide listed servers.
func (d *Daemon) makeList(s *settings) {
	sources := make(map[*master.Origin]*master.Source)
	for _, e := range s.entries {
		if e.Decoder == nil {
			continue
		}
		source := d.registry.NewSource(e.Decoder(d.registry))
		for _, o := range e.Origins {
			sources[o] = source
		}
	}
	d.shareList(s, sources)
	d.saved = &saved.List{
		Registry: d.registry, Store: d.store, Games: d.catalogue.Catalog(), Verdicts: d.servers, Origins: s.origins(), Sources: sources,
		Noting: s.noting, Banned: d.bannedServer, Log: d.log,
	}
	d.listings = &listings{
		store: d.store, list: d.registry, asker: &d.asker, log: d.log,
		static: func() []storage.AddedServer { return d.settings.Load().static() },
	}
	d.local = newLocalWatch(d.registry, d.addresses, d.servers, s.noting, d.log)
}

// load reads the store and the files next to it.
func (d *Daemon) load(ctx context.Context, s *settings) error {
	if err := d.loadShared(ctx, s, d.log); err != nil {
		return err
	}
	if err := d.listings.hide(ctx); err != nil {
		return err
	}
	return d.saved.Restore(ctx, s.Master.RestoreFor, s.Master.SaveEvery)
}

// makeOperator makes the operator's commands.
func (d *Daemon) makeOperator(s *settings) {
	d.operator = &operator.Local{
		Store: d.store, Table: d.bans, Rules: d.chatRules, Keys: d.keys, PlayerFiles: d.files, News: d.news, Played: d.played, Catalogue: d.catalogue, OpenChat: d.chat.open,
		DataDir: s.DataDir, StoreName: StoreName, Files: s.files(), Version: d.opt.Version,
		Registry: d.registry, ServerLog: d.servers, PlayerLog: d.players, Sessions: d.hub,
		Unlisted:       d.callbacks.unlisted,
		Nodes:          d.clusterNodes,
		BanFiles:       d.callbacks.fileBans,
		Listening:      d.listening,
		OpenAccounts:   func(context.Context) (*accounts.Service, error) { return d.accounts, nil },
		ResetPage:      func() string { return d.settings.Load().resetPage() },
		StaticServers:  func() []storage.AddedServer { return d.settings.Load().static() },
		AskedServers:   d.asker.named,
		CheckAdded:     d.asker.check,
		OtherMasters:   d.otherMasters,
		MeetingCounts:  &d.meetings,
		Recorder:       &d.recorder,
		RelayedPairs:   func() []operator.RelayedPair { return nil },
		ServersChanged: d.listings.take,
	}
}

// listening returns when the daemon started, and the addresses of its services.
func (d *Daemon) listening() (started time.Time, addresses map[string]string) {
	addresses = make(map[string]string)
	for _, s := range d.running {
		if at := s.run.Address.String(); at != "" {
			addresses[s.Name] = at
		}
	}
	return d.started, addresses
}

// otherMasters is operator.Local.OtherMasters.
func (d *Daemon) otherMasters() []operator.OtherMaster {
	if d.masters == nil {
		return nil
	}
	return d.masters()
}

// makeWebhooks makes the notifier of webhooks, which starts when the daemon
// runs.
func (d *Daemon) makeWebhooks(s *settings) error {
	hooks, err := webhook.Hooks(s.Webhooks)
	if err != nil {
		return err
	}
	d.webhooks = webhook.New(webhook.Options{
		Self: d.self("webhook", s), Listing: d.listing(), Bans: d.bansInForce, Rules: d.chatRules.List, Room: d.chatRoom, Hooks: hooks,
		Cluster: d.cluster, Title: d.title, Posts: d.store,
		Colours: func(game string) colour.Family { return colour.OfGame(d.catalogue.Catalog(), game) },
	})
	d.bans.OnChange(d.webhooks.BansChanged)
	d.chatRules.OnChange(d.webhooks.RulesChanged)
	return nil
}

func (d *Daemon) title(game string) string {
	if g, ok := d.catalogue.Catalog().Lookup(game); ok && g.Title != "" {
		return g.Title
	}
	return game
}

// Run serves until ctx ends or a service fails; the first failure stops the
// others.
func (d *Daemon) Run(ctx context.Context) error {
	d.ran = true
	if err := d.listings.take(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	whole := make(chan struct{}) // closed when the list has the servers of the other nodes
	for _, s := range d.running {
		g.Go(func() error {
			if s.Stage != service.StagePages { // these say that the daemon is not ready
				select {
				case <-whole:
				case <-ctx.Done():
					return nil
				}
			}
			if err := s.run.Serve(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.Key, err)
			}
			if ctx.Err() == nil {
				return fmt.Errorf("%s: the service ended", s.Key)
			}
			return nil
		})
	}
	g.Go(func() error { return d.registry.Run(ctx, d.callbacks.expired) })
	for _, watch := range []func(context.Context){
		func(ctx context.Context) { d.callbacks.reportReplaced(ctx, d.registry) },
		func(ctx context.Context) {
			d.saved.Run(ctx, func() time.Duration { return d.settings.Load().Master.SaveEvery })
		},
		d.node.run, d.courier.Run, d.followTableChanges, d.sweepBans, d.sweepResets, d.writable.run, d.followPlayers,
		func(ctx context.Context) { d.local.run(ctx, d.beyondLoopback()) },
	} {
		g.Go(func() error { watch(ctx); return nil })
	}
	g.Go(func() error { return d.webhooks.Run(ctx) })
	d.node.await(ctx, d.hub, d.settings.Load().Cluster.JoinWait)
	close(whole)
	if ctx.Err() == nil {
		d.announce() // before anything can change the configuration
	}
	g.Go(func() error { d.reloadOn(ctx); return nil })
	err := g.Wait()
	d.serving.Store(false)
	return err
}

// announce logs the address of each service, and then the line "ready", which
// tools wait for.
func (d *Daemon) announce() {
	ports := make(map[verdicts.Verdict]uint16)
	for _, s := range d.running {
		a, err := netip.ParseAddrPort(s.run.Address.String())
		if err != nil {
			continue // it has no socket
		}
		for _, v := range s.Takes {
			ports[v] = a.Port()
		}
		line := d.log.Info().Str("service", s.Name).Stringer("address", s.run.Address)
		if len(s.run.Ports) > 0 {
			line = line.Strs("further", s.run.Ports)
		}
		line.Msg("listening")
	}
	d.servers.SetPorts(ports)
	s := d.settings.Load()
	d.comparePorts(s)
	if keys := Missing(s.config); len(keys) > 0 {
		d.log.Info().Strs("keys", keys).Msg("these services are configured but not part of this version yet")
	}
	d.serving.Store(true)
	d.node.announce()
	d.log.Info().Str("version", d.opt.Version).Str("data_dir", s.DataDir).Int("games", d.offered()).Msg("ready")
	d.report(NotifyReady, "serving")
	d.welcomeGuests(s)
}

// offered counts the games that the services here are for.
func (d *Daemon) offered() (n int) {
	served := d.settings.Load().served
	for g := range d.catalogue.Catalog().Each() {
		if g.Offered(served) {
			n++
		}
	}
	return n
}

// report informs the service manager, if there is one.
func (d *Daemon) report(state, status string) {
	if d.opt.Notify == nil {
		return
	}
	if err := d.opt.Notify(state, status); err != nil {
		d.log.Warn().Err(err).Msg("the service manager was not informed")
	}
}

// Metrics returns the metrics of the daemon and of its services.
func (d *Daemon) Metrics() *prometheus.Registry { return d.metrics }

var errNotServing = errors.New("not serving; in a cluster the lists of the other nodes come first")

// ready is service.Operations.Ready.
func (d *Daemon) ready() error {
	if !d.serving.Load() {
		return errNotServing
	}
	return d.writable.err()
}

// Close saves the list and closes everything, the store last.
func (d *Daemon) Close() error {
	var errs []error
	for _, s := range d.running {
		if err := s.run.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Key, err))
		}
	}
	if d.ran {
		errs = append(errs, d.saved.SaveLast())
	}
	errs = append(errs, d.node.leave())
	return errors.Join(append(errs, d.closeShared())...)
}

// beyondLoopback reports whether a service that shows addresses of servers is open
// to other machines.
func (d *Daemon) beyondLoopback() bool {
	return slices.ContainsFunc(d.running, func(s opened) bool {
		at, err := netip.ParseAddrPort(fmt.Sprint(s.run.Address))
		return s.Shows && err == nil && !at.Addr().Unmap().IsLoopback()
	})
}
