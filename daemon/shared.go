package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/coherence"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/courier"
	"github.com/respawnd/respawnd/operator"
)

// shared holds the parts that the services share.
type shared struct {
	store     engine.Store
	cluster   cluster.Bus       // nil: this node is alone
	tables    *coherence.Tables // nil: this node is alone
	courier   *courier.Courier
	bans      *bans.Table
	chatRules *chatrules.Table
	keys      *cdkeys.Table
	files     *files.Table
	news      *news.Table
	played    *played.Table
	stats     *stats.Book
	lobby     *lobby.Lobby
	catalogue *operator.Catalogue
	geo       *geoIP       // nil: countries are unknown
	names     *games.Names // host names that lead to this machine
	servers   *verdicts.Log
	players   *verdicts.Log
	registry  *master.Registry
	addresses *advertise.Table // which address of a server a client gets
	accounts  *accounts.Service
	hub       presence.Hub
	signedIn  interface { // hub
		Run(ctx context.Context)
		End() error
	}
	unshare func() // ends the sharing of failed logins with other nodes; nil: there are none
	metrics *prometheus.Registry
}

// makeShared makes the shared parts, on an open store and metrics, without reading
// anything.
func (h *shared) makeShared(s *settings, log zerolog.Logger) {
	h.servers = verdicts.NewLog(log, 0)
	h.players = verdicts.NewLog(zerolog.Nop(), 0) // the services log the verdicts
	h.servers.SetTrial(master.IsTrial)
	h.players.SetTrial(master.IsTrial)
	h.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	h.servers.Register(h.metrics, "servers")
	if s.nouns().Has(noun.Accounts) || s.nouns().Has(noun.Meetings) {
		h.players.Register(h.metrics, "players")
	}
	h.bans = bans.New(h.store)
	h.chatRules = chatrules.New(h.store)
	h.keys = cdkeys.New(h.store)
	h.files = files.New(h.store, s.DataDir)
	h.news = news.New(h.store)
	h.played = played.New(h.store, h.metrics)
	h.lobby = new(lobby.Lobby)
	h.registry = master.NewRegistry(s.limits())
	h.catalogue = &operator.Catalogue{Embedded: operator.BuiltIn(), Store: h.store, Shared: h.registry.Share, Hidden: func(rooms []games.HiddenRoom) {
		for _, r := range rooms {
			log.Info().Uint32("room", r.Room.ID).Str("name", r.Room.Name).Str("game", r.Game).Str("other", r.Other).
				Msg("a built-in room is left out: a room of yours has its number")
		}
	}}
	h.stats = stats.New(h.store, stats.Options{Registerer: s.registerer(noun.Stats, h.metrics), Boards: func(game string) []games.Board {
		if g, _ := h.catalogue.Catalog().Lookup(game); len(g.Boards) > 0 {
			return g.Boards
		}
		g, _ := h.catalogue.Catalog().Base(game) // boards of a game are those of its other names
		return g.Boards
	}})
	h.names, _ = s.names(h.catalogue.Catalog()) // checkNames has reported the error, if it matters
	h.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "respawnd_master_replaced_total", Help: "Servers that newcomers replaced in a list that was nearly full.",
	}, func() float64 { return float64(h.registry.ReplacedTotal()) }))
	h.addresses = advertise.New(h.registry)
	h.addresses.SetRules(s.rules())
	h.addresses.SetNetworks(hostnet.AddressesOrNone())
}

// loadShared reads the store and the files next to it. It returns all errors,
// joined.
func (h *shared) loadShared(ctx context.Context, s *settings, log zerolog.Logger) error {
	var errs []error
	if err := h.bans.Load(ctx); err != nil {
		errs = append(errs, fmt.Errorf("bans in the store: %w", err))
	}
	errs = append(errs, h.chatRules.Load(ctx), h.news.Load(ctx), h.played.Load(ctx))
	errs = append(errs, h.catalogue.Load(ctx, s.GamesFile))
	var err error
	if s.GeoIPFile != "" {
		h.geo, err = openGeoIP(s.GeoIPFile)
		errs = append(errs, err)
	}
	h.accounts, err = OpenAccounts(ctx, s.config, h.store, s.registerer(noun.Accounts, h.metrics), log)
	errs = append(errs, err)
	if err == nil {
		errs = append(errs, h.keys.Load(ctx, h.accounts.Keys))
	}
	errs = append(errs, h.makeHub(ctx, s, log.With().Str("service", "presence").Logger()))
	return errors.Join(errs...)
}

func (h *shared) closeShared() error {
	var errs []error
	if h.unshare != nil {
		h.unshare()
	}
	if h.signedIn != nil {
		errs = append(errs, h.signedIn.End())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.geo != nil {
		errs = append(errs, h.geo.Close())
	}
	return errors.Join(errs...)
}
