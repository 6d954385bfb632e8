// Package services lists the parts of this build: the sections of the
// configuration, one for each service and for each shared part.
//
// Package configs reads the sections. This package does not know the use of a service's settings or
// how it is opened.
package services

import (
	"net/netip"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/dnsserver"
	"github.com/respawnd/respawnd/federation"
	"github.com/respawnd/respawnd/fesl"
	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/cluster/natsbus"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/lan"
	"github.com/respawnd/respawnd/mangler"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/nwmaster"
	"github.com/respawnd/respawnd/odamaster"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/q2master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/quickmatch"
	"github.com/respawnd/respawnd/qwmaster"
	"github.com/respawnd/respawnd/relay"
	"github.com/respawnd/respawnd/snapshot"
	"github.com/respawnd/respawnd/ssq"
	"github.com/respawnd/respawnd/theater"
	"github.com/respawnd/respawnd/torquemaster"
	"github.com/respawnd/respawnd/tribesmaster"
	"github.com/respawnd/respawnd/utmaster"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/web"
	"github.com/respawnd/respawnd/webservices"
	"github.com/respawnd/respawnd/zanmaster"
)

// Config is a complete, checked configuration. Load makes it; it is not
// modified afterwards, so goroutines may share it. The tags are those of
// configs.Key. A section that only one package uses is declared there.
type Config struct {
	// Folder of everything that must survive a restart: accounts, bans, the saved
	// server list, the admin token. Made if missing. One running daemon per
	// folder. A relative path starts at the working directory. Must not be empty.
	DataDir string `key:"data_dir" default:"./respawnd-data" as:"dir"` // never empty
	// Names of the services that run, such as [zanmaster, web, admin]. All others are
	// off: they open no port and appear nowhere, and their settings have no effect, which
	// `respawnd check` and the log say. A new version then opens no port that the one
	// before did not.
	//
	// A name is that of a section below with a key listen or enabled: {services}.
	//
	// A service that is named is on, also if its key enabled is false; only an empty
	// listen keeps it off. relay needs natneg in the list, and quickmatch needs peerchat.
	// What has no port for games cannot be named and follows from its own settings, with
	// this list or without: federation is on while it has masters, lan while discover is
	// true, probe while there are servers to query, webhooks while there are any.
	//
	// Empty: all services but those that are off by default; an empty listen, or enabled
	// false, turns one off. A change needs a restart.
	Services []string `key:"services" as:"name"`
	// The store: accounts, bans and everything else that must survive a restart.
	Storage engine.Config `key:"storage"`
	// Several machines that act as one service.
	Cluster natsbus.Config `key:"cluster"`
	// The log.
	Log Log `key:"log"`
	// Facts about the networks around this machine.
	Net Net `key:"net"`
	// Game hosts report here (QR2 and the older QR1), and games ask here whether
	// their online service is available.
	QR2 qr2.Config `key:"qr2"`
	// The live list of game servers that all list services share.
	Master master.Config `key:"master"`
	// Server browsers of games ask for the list here (version 2).
	ServerBrowse serverbrowse.Config `key:"serverbrowse"`
	// The old server list, as text, for games from before 2004.
	LegacyList legacylist.Config `key:"legacylist"`
	// Accounts of players, which presence and search share.
	Accounts accounts.Config `key:"accounts"`
	// Presence: sign-in, profiles, buddies, messages.
	GPCM gpcm.Config `key:"gpcm"`
	// Account search and creation.
	GPSP gpsp.Config `key:"gpsp"`
	// Sign-in of EA's games of 2005 to 2010, before that at presence: Battlefield 2142,
	// Command & Conquer 3, Red Alert 3 and their kin. Passwords arrive in clear text.
	FESL fesl.Config `key:"fesl"`
	// List of games of EA's games that sign in at fesl: Mercenaries 2, Medal of Honor:
	// Airborne, The Lord of the Rings: Conquest. Players offer games, and others join them.
	Theater theater.Config `key:"theater"`
	// Chat: the lobbies of games, with group rooms and staging rooms. IRC programs
	// can join them.
	Peerchat peerchat.Config `key:"peerchat"`
	// Quick matches of Command & Conquer: Generals and Zero Hour: a program in their chat
	// brings players together.
	QuickMatch quickmatch.Config `key:"quickmatch"`
	// CD key checks: game servers ask whether the key of a player is good.
	CDKey cdkey.Config `key:"cdkey"`
	// Statistics: games keep data of their players here, and game servers report
	// matches.
	GStats gstats.Config `key:"gstats"`
	// NAT negotiation brings two players behind routers together.
	NATNeg natneg.Config `key:"natneg"`
	// NAT helper of Command & Conquer: Generals and Zero Hour, which shows players how
	// their router changes ports.
	Mangler mangler.Config `key:"mangler"`
	// Relays players whose routers prevent a direct connection, after NAT negotiation has
	// failed between them: their packets pass through this machine.
	Relay relay.Config `key:"relay"`
	// Master server for Zandronum: game servers register, launchers and the game's
	// browser get the list, servers get the ban list.
	ZanMaster zanmaster.Config `key:"zanmaster"`
	// Search for game servers on the networks of this machine, for servers that
	// report to no master. It sends from the host of qr2.listen; if that is one
	// address, only its network is searched.
	LAN lan.Config `key:"lan"`
	// Queries game servers for their map and players: those of servers.static
	// and of `respawnd server add`, those of the Valve-style master, and A2S
	// servers that the search found. Servers that report by themselves are not
	// queried; for Zandronum see zanmaster.query.
	Probe probe.Config `key:"probe"`
	// Game servers that are queried and listed although they report to no
	// master.
	Servers Servers `key:"servers"`
	// Other masters whose game servers are listed here too, each after it was queried
	// by this daemon. Servers that report here themselves always have precedence.
	Federation federation.Config `key:"federation"`
	// A signed copy of the list in a folder, for mirrors.
	Snapshot snapshot.Config `key:"snapshot"`
	// Public pages and JSON: /, /api/v1/servers, /api/v1/games, /api/v1/events and
	// more; /api/v1/openapi.json describes them all.
	Web web.Config `key:"web"`
	// Mail to players.
	Mail mail.Config `key:"mail"`
	// Page, API, health and metrics for operators: /, /api/v1/, /healthz, /readyz,
	// /metrics.
	Admin admin.Config `key:"admin"`
	// Programs and chats that are notified of events over HTTP. A list, at most
	// 32 entries; in the environment, the same as one line of YAML. An entry
	// holds:
	//   name          for the log and `respawnd webhook test`: up to 32 letters,
	//                 digits, hyphens, underscores and dots. Each one once.
	//   url           where to send it, http or https; or url_file, a file with it.
	//                 It is never logged: the URL of a chat holds a token.
	//   format        json: signed, the default. discord: a chat message.
	//   secret        key of the signature, 16 characters or more; or secret_file, a
	//                 file with it. Only for json, and needed there.
	//   events        of up, down, players, bans (of `respawnd ban`), room_up (the
	//                 first player enters a title or group room in chat, at most
	//                 once in 10 minutes), chat_ban (of `respawnd chat ban`), chat
	//                 (messages in a room), status (one message that is edited at
	//                 most once a minute: who plays what on which server; for
	//                 discord only). None: all but chat and status.
	//   room          channel that chat is about, such as '#GSP!mygame'. Needed with
	//                 chat, which is for discord only.
	//   games         only servers of these. None: of all.
	//   players_high  a server that reaches this is reported, 1 to 9999. 0: none.
	//   players_low   so is one that falls to this number, which can then be high
	//                 again; below players_high. If missing, half of it.
	//   allow         networks that may be called although they are private, such as
	//                 192.168.1.5 or 127.0.0.0/8. None: public addresses only.
	// Such as:
	//   webhooks:
	//     - name: chat
	//       url_file: /etc/respawnd/discord-url
	//       format: discord
	//       events: [up, down, players]
	//       players_high: 8
	Webhooks []configs.Webhook `key:"webhooks" live:"true"`
	// Standard Server Queries: tools query the list in a language like SQL.
	SSQ ssq.Config `key:"ssq"`
	// Master server in Valve's form: game servers of the Source and GoldSource
	// families send heartbeats, are queried over A2S, and are listed if they
	// answer; browsers get the list in pages.
	ValveMaster valvemaster.Config `key:"valvemaster"`
	// Master server in Quake III's form, for id Tech 3, ioquake3 and DarkPlaces
	// games: servers send heartbeats and are asked for their info, browsers get the
	// list of a game and protocol.
	Q3Master q3master.Config `key:"q3master"`
	// Master server for Quake 2, Kingpin and games of their family: servers send heartbeats and
	// are asked for their status from other ports, browsers get the list.
	Q2Master q2master.Config `key:"q2master"`
	// Master server for QuakeWorld and HexenWorld, in the same way.
	QWMaster qwmaster.Config `key:"qwmaster"`
	// Master server for Odamex: servers send heartbeats and are asked for their info, launchers
	// get the list.
	OdaMaster odamaster.Config `key:"odamaster"`

	// Master server for games of the Torque engine: servers send heartbeats and are asked for
	// their info, browsers request lists.
	TorqueMaster torquemaster.Config `key:"torquemaster"`
	// Master server for Starsiege: Tribes: servers send heartbeats and are asked three times,
	// browsers request lists.
	TribesMaster tribesmaster.Config `key:"tribesmaster"`
	// Master server in the form of Epic's: Unreal Tournament 2003 and 2004 and Unreal 2
	// XMP. Servers report over one connection each and are probed over UDP, browsers get
	// the list and the message of the day of `respawnd motd`.
	UTMaster utmaster.Config `key:"utmaster"`
	// Master server for Doom 3, Quake 4 and Prey: servers send heartbeats and are asked
	// for their info, browsers get the list, keys of players are accepted.
	IDMaster idmaster.Config `key:"idmaster"`
	// Master server for Call of Duty, United Offensive, Call of Duty 2 and 4: servers
	// send heartbeats and ask whether a player may join, browsers get the list.
	CoDMaster codmaster.Config `key:"codmaster"`
	// BioWare's master for Neverwinter Nights: it checks the names and CD keys of
	// players, and lists servers.
	NWMaster nwmaster.Config `key:"nwmaster"`
	// Answers for the names that games look up, so that players need only set
	// their DNS server: the names under games.domains, those that are fixed in
	// games, and master.zandronum.com while zanmaster runs. Each client gets
	// the address of this machine on its own network.
	DNS dnsserver.Config `key:"dns"`
	// Web services: games of 2006 and later sign in and store data over HTTP.
	WebServices webservices.Config `key:"webservices"`
	// The catalogue of games. Many are built in.
	Games Catalogue `key:"games"`
	// Countries of servers, by address.
	GeoIP GeoIP `key:"geoip"`
}

// Log is section log.
type Log struct {
	// Least severe level that is written: {words}.
	//
	// debug shows why single packets of strangers were dropped.
	Level string `key:"level" default:"info" words:"trace, debug, info, warn, error"`
	// Form of the lines: {words}. console is for people, json is one object per
	// line, auto is console on a terminal and json otherwise.
	Format string `key:"format" default:"auto" words:"auto, console, json"`
}

// Net is section net.
type Net struct {
	// Networks that limits per address do not apply to, such as 192.0.2.0/24 or a
	// single address: a hall behind one router, your own game hosts, a monitor.
	//
	// At most 256 entries. Empty: the limits apply to all addresses.
	Trusted []netip.Prefix `key:"trusted" live:"true"` // masked; limits per address do not apply to these
	// Address under which game servers on this machine or in a private network
	// are listed for all players outside, such as 203.0.113.5: the one under which
	// your router or provider lets players reach them.
	//
	// Entries such as 10.0.0.0/8=203.0.113.6 are for the servers of that
	// network alone. At most 256 entries. Players on this machine and in the
	// same network always get an address that they reach directly. Empty: all
	// others get the private address.
	AdvertiseAs []configs.Advertised `key:"advertise_as" live:"true"`
}

// Servers is section servers.
type Servers struct {
	// PROTOCOL HOST:PORT of each, such as "a2s 192.0.2.1:27015"; the protocol
	// is gs1, gs3, a2s, ssq, zandronum, quake3, idtech4, nwn, quake2, quakeworld, unreal2, ase
	// or battlefield. At most 256 entries. Host names are resolved again regularly. `respawnd server add` needs no restart.
	Static []configs.StaticServer `key:"static" live:"true"`
}

// Catalogue is section games.
type Catalogue struct {
	// File with your own games, in the form of the built-in catalogue. It adds
	// games, and replaces only the stated fields of built-in ones. Empty: none.
	File string `key:"file" as:"text" live:"true"` // empty: built-in games only
	// Domains under which games look for their services, 1 to 256 entries. Used by
	// `respawnd hosts` and the DNS server. A name of 11 letters, as long as
	// gamespy.com, can be patched into a game in place of it.
	Domains []string `key:"domains" required:"true" default:"gamespy.com" as:"domain"` // lower case, without a final dot; at least one
	// Names of the games of your community, at most 256: they stand first on
	// the pages, the others behind a search, and `respawnd check` reports
	// whether they can be played here. Empty: all games alike.
	Focus []string `key:"focus" as:"text"`
}

// GeoIP is section geoip.
type GeoIP struct {
	// Country or city database in MaxMind's format (.mmdb). Empty: servers get no
	// country, and filters on it find nothing.
	File string `key:"file" as:"text"` // empty: no countries
}

// Shared returns the shared sections. It implements daemon.Config.
func (c *Config) Shared() daemon.Shared {
	return daemon.Shared{
		DataDir: c.DataDir, Storage: c.Storage, Cluster: c.Cluster, Trusted: c.Net.Trusted, Advertised: c.Advertised(), Static: c.Servers.Static,
		Master: c.Master, Accounts: c.Accounts, Mail: c.Mail, Webhooks: c.Webhooks,
		GamesFile: c.Games.File, Domains: c.Games.Domains, Focus: c.Games.Focus, GeoIPFile: c.GeoIP.File,
	}
}

// Load reads the configuration, see configs.Load. After an error it is nil.
func Load(opt configs.Options) (*Config, []string, error) {
	c := new(Config)
	warnings, err := configs.Load(opt, c)
	if err != nil {
		return nil, warnings, err
	}
	return c, warnings, nil
}

// All returns every service that can be configured, built or not.
func All() []configs.Service { return configs.Services(new(Config)) }

// Listeners returns the addresses of all services that are on, see
// configs.Listeners.
func (c *Config) Listeners() []configs.Listener { return configs.Listeners(c) }
