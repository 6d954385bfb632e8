package daemon

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
)

// env returns the service.Env of a service.
func (d *Daemon) env(name string, s *settings) *service.Env {
	return &service.Env{
		Self: d.self(name, s), Listing: d.listing(),
		Catalogue: part.Catalogue{
			Rooms: d.catalogue.Rooms, Room: d.catalogue.Room, Names: d.names, Domains: s.Domains, Focus: s.Focus,
			Served: s.served, Nouns: s.nouns(), Docs: s.docs(),
		},
		Network:     d.network(s),
		GameServers: d.gameServers(s),
		Players: service.Players{
			Store: d.store, Accounts: d.accounts, Hub: d.hub, Keys: d.keys, Files: d.files, News: d.news, Played: d.played, Stats: d.stats, Lobby: d.lobby,
			Mail:    func() mail.Config { return d.settings.Load().Mail },
			Private: func() bool { return d.settings.Load().private() },
		},
		Talk: service.Talk{Rules: d.chatRules, Said: d.webhooks.ChatSaid, Up: d.webhooks.ChatUp},
		Operations: service.Operations{
			Operator: d.operator, Ready: d.ready, Trouble: d.node.trouble, Tail: d.opt.Tail, Gatherer: d.metrics, Opened: d.opened,
		},
		Verdicts: service.Verdicts{Servers: d.servers, Players: d.players},
		Chat:     &d.chat, Relay: &d.relay, Cluster: d.cluster,
	}
}

// self returns what a service, or another part that has a name in the log, knows of itself.
func (d *Daemon) self(name string, s *settings) part.Self {
	return part.Self{
		Name: name, Version: d.opt.Version, Master: d.master, DataDir: s.DataDir, Started: d.started,
		Log: d.log.With().Str("service", name).Logger(), Registerer: d.metrics,
	}
}

func (d *Daemon) listing() part.Listing {
	return part.Listing{Registry: d.registry, Games: d.catalogue.Catalog(), Addresses: d.addresses}
}

func (d *Daemon) network(s *settings) service.Network {
	listeners := configs.Listeners(s.config)
	n := service.Network{
		Host: func(n noun.Noun) string { return s.hostOf(listeners, n) }, UDPHost: udpHost(listeners),
		Further: each(s, func(e *Entry) []string { return e.Further }), Own: d.ownAddress, Tap: &d.recorder.Tap, Guests: &d.guests,
		Trusted: func(a netip.Addr) bool { return d.settings.Load().trusted(a) },
		Banned:  d.bannedFrom, Bans: d.bans, FileBans: d.callbacks.fileBans,
	}
	if d.geo != nil {
		n.Locate = d.geo.locate
	}
	return n
}

func (d *Daemon) gameServers(s *settings) service.GameServers {
	return service.GameServers{
		Messenger: d.courier, Met: d.courier.Met, Meetings: &d.meetings, Recheck: d.callbacks.recheck,
		Asker: &d.asker, AskEvery: func() map[*master.Origin]time.Duration { return d.settings.Load().askEvery() },
		Protocols: each(s, func(e *Entry) []string { return e.Protocols }),
	}
}
