package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web"
)

// pageOptions adds what the pages need beside the list.
func (d *daemon) pageOptions(opt *web.Options) {
	opt.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	}
	opt.Services, opt.Prober = d.publicServices, d.prober
	opt.Verdicts, opt.Banned = d.book, d.bannedWords
	opt.Accounts.Service, opt.Accounts.Store = d.accounts, d.store
	opt.Accounts.Sessions, opt.Accounts.Banned = d.hub, d.bannedFromPresence
}

// serviceWords says what a service is for, to players; "" if it is none of their
// business.
func serviceWords(name string) string {
	return map[string]string{
		"qr2":          "Game servers report here",
		"serverbrowse": "Server lists in games",
		"legacylist":   "Server lists in games from before 2004",
		"gpcm":         "Sign-in, buddies, messages",
		"gpsp":         "Accounts and search for players",
		"natneg":       "Meeting through routers",
		"zanmaster":    "Zandronum",
		"ssq":          "Standard Server Queries",
		"valvemaster":  "Valve-style server lists",
		"dns":          "Names of the services",
		"gstats":       "Statistics",
		"cdkey":        "CD keys",
		"peerchat":     "Chat and lobbies",
		"webservices":  "Sign-in and storage over HTTP",
	}[name]
}

// publicServices returns the services that players have to do with. Every one
// that was opened runs: the daemon ends if one does not.
func (d *daemon) publicServices() []web.Service {
	var out []web.Service
	for _, s := range d.services {
		what := serviceWords(s.name)
		if what == "" {
			continue
		}
		network := "UDP"
		if _, tcp := s.address.(net.Addr); tcp {
			network = "TCP"
		}
		out = append(out, web.Service{Name: s.name, What: what, Port: network + " " + portOf(s.address)})
	}
	return out
}

// portOf returns the port of an address.
func portOf(address fmt.Stringer) string {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return ""
	}
	return port
}

// bannedWords says from what an address is banned, for whoever comes from it.
func (d *daemon) bannedWords(a netip.Addr) (out []string) {
	now := time.Now()
	for _, from := range []struct {
		scope storage.Scope
		words string
	}{
		{storage.ScopeLists, "server lists"}, {storage.ScopePresence, "signing in"}, {storage.ScopeZandronum, "the Zandronum list"},
	} {
		ban, yes := d.bans.Check(from.scope, a, now)
		switch {
		case yes && ban.Expires.IsZero():
			out = append(out, from.words+" for good")
		case yes:
			out = append(out, from.words+" until "+ban.Expires.UTC().Format("2 January 2006, 15:04 UTC"))
		}
	}
	return out
}
