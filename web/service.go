package web

import (
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/lang"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/account"
	"github.com/respawnd/respawnd/web/api"
)

// HistoryFile is the file in the data folder that keeps the numbers of players
// over a restart. It is not part of a backup: a new machine works without it.
const HistoryFile = "players.history"

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Stage: service.StagePages, Shows: true, Guests: service.Guests{Page: true, PageURL: c.PublicURL}, ResetPage: c.resetPage(), Check: c.checkPictures,
		Steps: []service.Step{{Name: "web", Needs: []string{"web"}, Order: service.OrderPages, Run: findServer}},
	}
}

// resetPage is service.Descriptor.ResetPage.
func (c *Config) resetPage() string {
	if !c.Accounts {
		return ""
	}
	return c.PublicURL + account.ResetPath
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	ln, err := service.ListenTCP(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	file := history.File{Path: filepath.Join(env.DataDir, HistoryFile), Log: env.Log}
	kept := file.Load()
	players := env.Accounts
	if !env.Nouns.Has(noun.Accounts) {
		players = nil // an account would be of no use
	}
	s := New(Options{
		Config: c,
		Options: api.Options{
			Self: env.Counted(DropReasons()...), Listing: env.Listing, Catalogue: env.Catalogue,
			History: kept, Chat: chatOf(env), Stats: env.Store, Verdicts: env.Verdicts.Servers, Players: env.Verdicts.Players, Meetings: env.Meetings, Played: env.Played,
		},
		Trusted: env.Trusted,
		Lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
		},
		Reporter: func(day string, from netip.Addr) string { return played.Reporter(env.Accounts.Keys.MAC, day, from) },
		Services: func() []Service { return publicServices(env.Opened()) }, Prober: env.Asker,
		Recheck: env.Recheck, Banned: func(l *lang.Language, a netip.Addr) []string { return banWords(l, env, a) },
		Accounts: account.Options{
			Service: players, Store: env.Store, Sessions: env.Hub, Games: env.Games, Banned: env.BannedFrom(storage.ScopePresence), Private: env.Private, Mail: env.Mail,
		},
	})
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return s.Serve(ctx, ln) })
		g.Go(func() error { file.Keep(ctx, kept); return nil })
		return g.Wait()
	})
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	r.Files = func(put func(string, []byte)) { api.Files(s.api, put) }
	return r, nil
}

// chatOf returns the chat of a daemon, nil if games cannot use it.
func chatOf(env *service.Env) api.Chat {
	if !env.Nouns.Has(noun.Chat) {
		return nil
	}
	return chat{env.Chat}
}

// chat is the chat as pages show it: numbers of members, and nothing else.
type chat struct{ service.Chat }

// Counts implements api.Chat.
func (c chat) Counts() (out []api.RoomCount) {
	for _, r := range c.Rooms() {
		if r.Kind == operator.ChatTitle || r.Kind == operator.ChatGroup {
			out = append(out, api.RoomCount{Game: r.Game, Group: r.Group, Members: r.Members})
		}
	}
	return out
}

// publicServices returns the services that concern players. Every opened
// service runs: the daemon ends if one fails.
func publicServices(opened []service.Opened) (out []Service) {
	for _, s := range opened {
		if s.Title == "" {
			continue
		}
		where := s.Address.String()
		if _, port, err := net.SplitHostPort(where); err == nil {
			network := "UDP"
			if _, tcp := s.Address.(net.Addr); tcp {
				network = "TCP"
			}
			where = network + " " + port
		} else if where == "" {
			continue // it works on nothing: it is switched off
		}
		out = append(out, Service{s.Name, s.Title, where, s.Connect, slices.Contains(s.Nouns, noun.Zandronum)})
	}
	return out
}

// banWords describes the ban of an address, for visitors from it.
func banWords(l *lang.Language, env *service.Env, a netip.Addr) (out []string) {
	now := time.Now()
	for _, from := range []struct {
		scope storage.Scope
		words string
	}{
		{storage.ScopeLists, l.T("server lists")}, {storage.ScopePresence, l.T("signing in")}, {storage.ScopeZandronum, l.T("the Zandronum list")},
	} {
		ban, yes := env.Bans.Check(from.scope, a, now)
		if yes {
			out = append(out, banned(l, from.words, ban.Expires))
		}
	}
	files, _ := env.FileBans(a) // those of the running services are in memory
	for _, b := range files {
		out = append(out, l.T("%1 (%2, line %3)", banned(l, l.T("the Zandronum list"), b.Expires), filepath.Base(b.File), b.Line))
	}
	return out
}

// banned says until when something is banned.
func banned(l *lang.Language, from string, expires time.Time) string {
	if expires.IsZero() {
		return l.T("%1 for good", from)
	}
	return l.T("%1 until %2", from, l.Time(expires.UTC(), "2 January 2006, 15:04 UTC"))
}
