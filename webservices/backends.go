package webservices

import (
	"context"
	"crypto/rand"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/auth"
	"github.com/respawnd/respawnd/webservices/bfhq"
	"github.com/respawnd/respawnd/webservices/commerce"
	"github.com/respawnd/respawnd/webservices/competition"
	"github.com/respawnd/respawnd/webservices/gamefiles"
	"github.com/respawnd/respawnd/webservices/motd"
	"github.com/respawnd/respawnd/webservices/nas"
	"github.com/respawnd/respawnd/webservices/sake"
	"github.com/respawnd/respawnd/webservices/sakefiles"
	"github.com/respawnd/respawnd/webservices/soap"
)

// backend is the part of the service that one of the packages below implements.
type backend struct {
	services []soap.Service
	pages    []soap.Page
	run      func(context.Context) // background work of the backend, until the context ends; nil: none
	reload   func(*Config)         // applies the live keys; nil: there are none
	// find returns the page of a path that no backend has; nil: there are none. names are
	// those of such pages.
	find  func(host, path string) (page *soap.Page, game string, ok bool)
	names []string
}

// backends returns the backends, made from the options of the server.
func backends(o *Options) ([]backend, error) {
	signIn := newAuth(o)
	all := []backend{authBackend(signIn), matchBackend(newMatches(o, signIn)), {services: commerce.Services()}}
	var stored sake.Files
	var prove func(storage.ProfileID, netip.Addr, string)
	if o.Files != nil {
		f := newFiles(o)
		stored, prove = f, f.Prove
		all = append(all, fileBackend(f))
	}
	if o.Records != nil {
		all = append(all, recordBackend(sake.New(sake.Options{
			Config: o.Config.RecordConfig, Store: o.Records, Tickets: o.Tickets, Games: o.Games, Files: stored, Verify: signIn.Verify, Prove: prove,
			Self: o.Self, Peers: o.Peers,
		})))
	}
	if o.News != nil {
		all = append(all, newsBackend(o))
	}
	if o.Stats != nil {
		all = append(all, playerPagesBackend(o))
	}
	if o.Config.NAS {
		all = append(all, consoleBackend(o, signIn))
	}
	return append(all, gameFileBackend(o)), nil
}

// playerPagesBackend makes the backend for the pages of players, which gets the reports of the
// statistics service.
func playerPagesBackend(o *Options) backend {
	r := bfhq.New(bfhq.Options{
		Config: o.Config.PagesConfig, Games: o.Games, Store: o.Store, Nick: o.Accounts.Profiles.ByUniqueNick, Limits: o.Stats.Limits,
		Ticket: o.Accounts.Grants.CheckTicket, SignedIn: o.SignedIn, Self: o.Self, Peers: o.Peers,
	})
	o.Stats.SetTaker(r.Take)
	return backend{find: r.Find, names: bfhq.Names(), run: r.Serve, reload: func(c *Config) { r.Reload(c.PagesConfig) }}
}

// consoleBackend makes the backend for consoles of Nintendo. New accounts count like those of the
// sign-in.
func consoleBackend(o *Options, signIn *auth.Backend) backend {
	r := nas.New(nas.Options{
		Config: o.Config.ConsoleConfig, Users: o.Accounts.Users, Grants: o.Accounts.Grants, MayRegister: signIn.MayRegister, Self: o.Self, Peers: o.Peers,
	})
	return backend{pages: r.Pages(), find: r.Find, names: nas.Names(), reload: func(c *Config) { r.Reload(c.ConsoleConfig) }}
}

// gameFileBackend makes the backend for files that games load, as the catalogue has them.
func gameFileBackend(o *Options) backend {
	motd := func(string) string { return o.Config.Motd }
	if o.News != nil {
		motd = o.News.Motd
	}
	served := func(s games.Service) bool { return o.Served != nil && o.Served(s) == games.Running }
	f := gamefiles.New(gamefiles.Options{
		Config: o.Config.FilesConfig, Games: o.Games, Motd: motd, Mangler: served("mangler"), QuickMatch: served("quickmatch") && served("peerchat"),
	})
	return backend{find: f.Find, names: gamefiles.Names(), reload: func(c *Config) { f.Reload(c.FilesConfig) }}
}

// newMatches makes the backend for matches, whose players v verifies.
func newMatches(o *Options, v competition.Verifier) *competition.Backend {
	var ticket func(string) (storage.ProfileID, error)
	if o.Tickets != nil {
		ticket = o.Tickets.CheckTicket
	}
	return competition.New(competition.Options{
		Config: o.Config.MatchConfig, Store: o.Store, Verifier: v, Ticket: ticket, Rand: rand.Reader, Self: o.Self, Peers: o.Peers,
		Boards: func(game string) []games.Board {
			g, _ := o.Games.Lookup(game)
			return g.Boards
		},
	})
}

func matchBackend(m *competition.Backend) backend {
	return backend{services: m.Services(), pages: m.Pages(), run: m.Serve, reload: func(c *Config) { m.Reload(c.MatchConfig) }}
}

func newAuth(o *Options) *auth.Backend {
	return auth.New(auth.Options{
		Key: o.Key, Identity: o.Config.RSAMode == Identity, Accounts: o.Accounts, Store: o.Store,
		Registrations: o.Config.Registrations, Consoles: o.Config.ConsoleTickets, Self: o.Self, Peers: o.Peers,
	})
}

func authBackend(a *auth.Backend) backend {
	return backend{services: a.Services(), reload: func(c *Config) {
		a.SetRegistrations(c.Registrations)
		a.SetConsoles(c.ConsoleTickets)
	}}
}

func newFiles(o *Options) *sakefiles.Backend {
	return sakefiles.New(sakefiles.Options{
		Config: o.Config.FileConfig, Files: o.Files, Owners: o.Store, Tickets: o.Tickets, SignedIn: o.SignedIn,
		Cluster: o.Cluster, Self: o.Self, Peers: o.Peers,
	})
}

func fileBackend(f *sakefiles.Backend) backend {
	return backend{pages: f.Pages(), run: f.Serve, reload: func(c *Config) { f.Reload(c.FileConfig) }}
}

// newsBackend makes the backend for messages of the day and patches.
func newsBackend(o *Options) backend {
	m := motd.New(motd.Options{Config: o.Config.NewsConfig, News: o.News, Self: o.Self, Game: func(name string) string {
		g, _ := o.Games.Lookup(name)
		return g.Name
	}, Asked: func(from netip.Addr, game, version string) {
		o.Verdicts.NoteDetail(name, from, game, verdicts.VersionAsked, verdicts.VersionDetail(version))
	}})
	return backend{pages: m.Pages(), reload: func(c *Config) { m.Reload(c.NewsConfig) }}
}

func recordBackend(r *sake.Backend) backend {
	return backend{services: r.Services(), run: r.Serve, reload: func(c *Config) { r.Reload(c.RecordConfig) }}
}

// requestNames returns the names of all requests that backends answer, for metrics:
// those of methods and of pages.
func requestNames(backends []backend) (names []string) {
	for _, backend := range backends {
		for _, s := range backend.services {
			for method := range s.Methods {
				names = append(names, s.Name+"."+method)
			}
		}
		for _, p := range backend.pages {
			names = append(names, p.Name)
		}
		names = append(names, backend.names...)
	}
	return names
}
