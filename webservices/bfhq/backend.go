package bfhq

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// Store is the part of the store that the backend uses.
type Store interface {
	storage.Stats
	GetUser(ctx context.Context, id storage.UserID) (storage.User, error)
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
}

// Options are the parts of a Backend. Config, Games, Store, Nick and Limits are required.
type Options struct {
	part.Self
	part.Peers

	Config PagesConfig
	Games  *games.Catalog
	Store  Store
	// Nick returns the profile with a unique nick and its account, without regard to case.
	Nick func(ctx context.Context, namespace int, nick string) (storage.Profile, storage.User, error)
	// Limits returns how many reports of rounds are kept.
	Limits func() stats.Limits
	// Ticket returns the profile that a login ticket was issued for; nil: there are none.
	Ticket func(ticket string) (storage.ProfileID, error)
	// SignedIn reports whether a profile is signed in from an address; nil: none is.
	SignedIn func(ctx context.Context, id storage.ProfileID, from netip.Addr) bool
}

// Backend answers requests for pages and counts rounds. All methods may be called concurrently.
type Backend struct {
	roundCounter
	sizes   sizes
	players directory
}

// New returns a backend. It panics if the registerer has other metrics of the same names.
func New(opt Options) *Backend {
	r := &Backend{roundCounter: roundCounter{opt: opt, waiting: make(chan counted, maxWaiting)}}
	r.metrics = newMetrics(opt.Registerer, func() int { return len(r.waiting) })
	r.Reload(opt.Config)
	return r
}

// Reload applies a configuration.
func (r *Backend) Reload(c PagesConfig) { r.config.Store(&c) }

// prefix begins the names of pages in metrics.
const prefix = "bfhq."

// Names returns the names of the backend's pages, for metrics.
func Names() []string {
	names := make([]string, 0, 32)
	for kind, of := range pagesBy {
		names = append(names, prefix+rulesBy[kind].file)
		for name := range of {
			names = append(names, prefix+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Find returns the page for a path on a host. ok is false if no game has it.
func (r *Backend) Find(host, path string) (page *soap.Page, game string, ok bool) {
	of, f, ok := r.opt.Games.File(host, path)
	pages := pagesBy[f.Is]
	if !ok || pages == nil {
		return nil, "", false
	}
	g, ok := r.opt.Games.Lookup(of[0])
	if !ok {
		return nil, "", false
	}
	file := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	if file == rulesBy[f.Is].file {
		return &soap.Page{Name: prefix + file, MaxBody: maxSnapshot, Serve: r.serveRound(&g)}, g.Name, true
	}
	name, isPage := strings.CutSuffix(file, ".aspx")
	answer, known := pages[name]
	if !isPage || !known {
		return nil, "", false
	}
	return &soap.Page{Name: prefix + name, MaxBody: maxForm, Serve: r.serve(&g, answer)}, g.Name, true
}
