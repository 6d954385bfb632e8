package webservices

import (
	"context"
	"crypto/rand"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
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

// room is the part of the service that one of the packages below implements.
type room struct {
	services []soap.Service
	pages    []soap.Page
	run      func(context.Context) // background work of the room, until the context ends; nil: none
	reload   func(*Config)         // applies the live keys; nil: there are none
	// find returns the page of a path that no room has; nil: there are none. names are
	// those of such pages.
	find  func(host, path string) (page *soap.Page, game string, ok bool)
	names []string
}

// rooms returns the rooms, made from the options of the server.
func rooms(o *Options) ([]room, error) {
	signIn := newAuth(o)
	all := []room{authRoom(signIn), matchRoom(newMatches(o, signIn)), {services: commerce.Services()}}
	var stored sake.Files
	var prove func(storage.ProfileID, netip.Addr, string)
	if o.Files != nil {
		f := newFiles(o)
		stored, prove = f, f.Prove
		all = append(all, fileRoom(f))
	}
	if o.Records != nil {
		all = append(all, recordRoom(sake.New(sake.Options{
			Config: o.Config.RecordConfig, Store: o.Records, Tickets: o.Tickets, Games: o.Games, Files: stored, Verify: signIn.Verify, Prove: prove,
			Self: o.Self, Peers: o.Peers,
		})))
	}
	if o.News != nil {
		all = append(all, newsRoom(o))
	}
	if o.Stats != nil {
		all = append(all, playerPagesRoom(o))
	}
	if o.Config.NAS {
		all = append(all, consoleRoom(o, signIn))
	}
	return append(all, gameFileRoom(o)), nil
}

// playerPagesRoom makes the room for the pages of players, which gets the reports of the
// statistics service.
func playerPagesRoom(o *Options) room {
	r := bfhq.New(bfhq.Options{
		Config: o.Config.PagesConfig, Games: o.Games, Store: o.Store, Nick: o.Accounts.Profiles.ByUniqueNick, Limits: o.Stats.Limits,
		SignedIn: o.SignedIn, Self: o.Self, Peers: o.Peers,
	})
	o.Stats.SetTaker(r.Take)
	return room{find: r.Find, names: bfhq.Names(), run: r.Serve, reload: func(c *Config) { r.Reload(c.PagesConfig) }}
}

// consoleRoom makes the room for consoles of Nintendo. New accounts count like those of the
// sign-in.
func consoleRoom(o *Options, signIn *auth.Room) room {
	r := nas.New(nas.Options{
		Config: o.Config.ConsoleConfig, Users: o.Accounts.Users, Grants: o.Accounts.Grants, MayRegister: signIn.MayRegister, Self: o.Self, Peers: o.Peers,
	})
	return room{pages: r.Pages(), find: r.Find, names: nas.Names(), reload: func(c *Config) { r.Reload(c.ConsoleConfig) }}
}

// gameFileRoom makes the room for files that games load, as the catalogue has them.
func gameFileRoom(o *Options) room {
	motd := func(string) string { return o.Config.Motd }
	if o.News != nil {
		motd = o.News.Motd
	}
	served := func(s games.Service) bool { return o.Served != nil && o.Served(s) == games.Running }
	f := gamefiles.New(gamefiles.Options{
		Config: o.Config.FilesConfig, Games: o.Games, Motd: motd, Mangler: served("mangler"), QuickMatch: served("quickmatch") && served("peerchat"),
	})
	return room{find: f.Find, names: gamefiles.Names(), reload: func(c *Config) { f.Reload(c.FilesConfig) }}
}

// newMatches makes the room for matches, whose players v verifies.
func newMatches(o *Options, v competition.Verifier) *competition.Room {
	return competition.New(competition.Options{
		Config: o.Config.MatchConfig, Store: o.Store, Verifier: v, Rand: rand.Reader, Self: o.Self, Peers: o.Peers,
		Boards: func(game string) []games.Board {
			g, _ := o.Games.Lookup(game)
			return g.Boards
		},
	})
}

func matchRoom(m *competition.Room) room {
	return room{services: m.Services(), run: m.Serve, reload: func(c *Config) { m.Reload(c.MatchConfig) }}
}

// newAuth makes the room of the sign-in.
func newAuth(o *Options) *auth.Room {
	return auth.New(auth.Options{
		Key: o.Key, Identity: o.Config.RSAMode == Identity, Accounts: o.Accounts, Store: o.Store,
		Registrations: o.Config.Registrations, Consoles: o.Config.ConsoleTickets, Self: o.Self, Peers: o.Peers,
	})
}

func authRoom(a *auth.Room) room {
	return room{services: a.Services(), reload: func(c *Config) {
		a.SetRegistrations(c.Registrations)
		a.SetConsoles(c.ConsoleTickets)
	}}
}

// newFiles makes the room for files.
func newFiles(o *Options) *sakefiles.Room {
	return sakefiles.New(sakefiles.Options{
		Config: o.Config.FileConfig, Files: o.Files, Owners: o.Store, Tickets: o.Tickets, SignedIn: o.SignedIn,
		Cluster: o.Cluster, Self: o.Self, Peers: o.Peers,
	})
}

func fileRoom(f *sakefiles.Room) room {
	return room{pages: f.Pages(), run: f.Serve, reload: func(c *Config) { f.Reload(c.FileConfig) }}
}

// newsRoom makes the room for messages of the day and patches.
func newsRoom(o *Options) room {
	m := motd.New(motd.Options{Config: o.Config.NewsConfig, News: o.News, Self: o.Self, Game: func(name string) string {
		g, _ := o.Games.Lookup(name)
		return g.Name
	}})
	return room{pages: m.Pages(), reload: func(c *Config) { m.Reload(c.NewsConfig) }}
}

func recordRoom(r *sake.Room) room {
	return room{services: r.Services(), run: r.Serve, reload: func(c *Config) { r.Reload(c.RecordConfig) }}
}

// requestNames returns the names of all requests that rooms answer, for metrics:
// those of methods and of pages.
func requestNames(rooms []room) (names []string) {
	for _, room := range rooms {
		for _, s := range room.services {
			for method := range s.Methods {
				names = append(names, s.Name+"."+method)
			}
		}
		for _, p := range room.pages {
			names = append(names, p.Name)
		}
		names = append(names, room.names...)
	}
	return names
}
