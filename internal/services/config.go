// Package services is the list of what this build is made of: the sections of the
// configuration, one for each service and for what services share.
//
// It says what can be set and where. Package configs reads it; it does not know
// what a service does with its settings or how it is opened.
package services

import (
	"net/netip"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/configs"
)

// Config is a complete, checked configuration. Load makes it; nobody changes it
// afterwards, so goroutines may share it. The tags are those
// of configs.Key.
type Config struct {
	// Folder of everything that must survive a restart: accounts, bans, the saved
	// server list, the admin token. Made if missing. One running daemon per
	// folder. A relative path starts at the working directory. Must not be empty.
	DataDir string `key:"data_dir" default:"./respawnd-data" as:"dir"` // never empty
	// The log.
	Log Log `key:"log"`
	// Facts about the networks around this machine.
	Net Net `key:"net"`
	// Game hosts report here (QR2 and the older QR1), and games ask here whether
	// their online service is available.
	QR2 QR2 `key:"qr2"`
	// The live list of game servers that all list services share.
	Master Master `key:"master"`
	// Server browsers of games ask for the list here (version 2).
	ServerBrowse ServerBrowse `key:"serverbrowse"`
	// The old server list, as text, for games from before 2004.
	LegacyList LegacyList `key:"legacylist"`
	// Accounts of players, which presence and search share.
	Accounts Accounts `key:"accounts"`
	// Presence: sign-in, profiles, buddies, messages.
	GPCM GPCM `key:"gpcm"`
	// Account search and creation.
	GPSP GPSP `key:"gpsp"`
	// NAT negotiation brings two players behind routers together.
	NATNeg NATNeg `key:"natneg"`
	// Master server for Zandronum: game servers register, launchers and the game's
	// browser get the list, servers get the ban list.
	ZanMaster ZanMaster `key:"zanmaster"`
	// Search for game servers on the networks of this machine, for servers that
	// never heard of a master. It speaks from the host of qr2.listen; if that is
	// one address, only its network is searched.
	LAN LAN `key:"lan"`
	// Game servers are asked what they play and who plays there: those of
	// servers.static and of `respawnd server add`, those of the Valve-style
	// master, and A2S servers that the search found. Servers that report by
	// themselves are not; Zandronum's are asked as zanmaster.query says.
	Probe Probe `key:"probe"`
	// Game servers that are asked and listed although they report to nobody.
	Servers Servers `key:"servers"`
	// Public pages and JSON: /, /api/v1/servers, /api/v1/games, /api/v1/events and
	// more; /api/v1/openapi.json describes them all.
	Web Web `key:"web"`
	// Page, API, health and metrics for operators: /, /api/v1/, /healthz, /readyz,
	// /metrics.
	Admin Admin `key:"admin"`
	// Programs and chats that are told over HTTP what happens. A list, at most 32
	// entries; in the environment, the same as one line of YAML. An entry holds:
	//   name          for the log and `respawnd webhook test`: up to 32 letters,
	//                 digits, hyphens, underscores and dots. Each one once.
	//   url           where to send it, http or https; or url_file, a file with it.
	//                 It is kept out of the log, for a chat's holds a token.
	//   format        json: signed, the default. discord: a chat message.
	//   secret        key of the signature, 16 characters or more; or secret_file, a
	//                 file with it. Only for json, and needed there.
	//   events        of up, down, players, bans (of `respawnd ban`). None: all.
	//   games         only servers of these. None: of all.
	//   players_high  a server with so many players is told, 1 to 9999. 0: none is.
	//   players_low   it is told again with so few, and may then be high anew; below
	//                 players_high. If missing, half of it.
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
	// Standard Server Queries: tools ask for what the list knows, in a language
	// like SQL.
	SSQ SSQ `key:"ssq"`
	// Master server in Valve's form: game servers of the Source and GoldSource
	// families send heartbeats, are asked over A2S, and are listed if they answer;
	// browsers get the list in pages.
	ValveMaster ValveMaster `key:"valvemaster"`
	// Answers for the names that games look up, so that players need only set
	// their DNS server: the names under games.domains, those that are fixed in
	// games, and master.zandronum.com while zanmaster runs. Each client is given
	// the address of this machine on its own network.
	DNS DNS `key:"dns"`
	// Statistics and ranks. A later service, off for now.
	GStats GStats `key:"gstats"`
	// CD key checks of old games. A later service, off for now.
	CDKey CDKey `key:"cdkey"`
	// Chat and game lobbies. A later service, off for now.
	Peerchat Peerchat `key:"peerchat"`
	// Authentication and storage over HTTP. A later service, off for now.
	WebServices WebServices `key:"webservices"`
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
	// At most 256 entries. Empty: everybody is treated alike.
	Trusted []netip.Prefix `key:"trusted" live:"true"` // masked; limits per address do not apply to these
	// Address under which game servers on this machine or in a private network
	// are listed for everybody outside, such as 203.0.113.5: the one under which
	// your router or provider lets players reach them.
	//
	// Entries such as 10.0.0.0/8=203.0.113.6 are for the servers of that network
	// alone. At most 256 entries. Players on this machine and in the same network
	// are always given an address that they reach directly. Empty: everybody else
	// is given the private address as it is.
	AdvertiseAs []configs.Advertised `key:"advertise_as" live:"true"`
}

// QR2 is section qr2.
type QR2 struct {
	// UDP address. Games expect port 27900.
	Listen string `key:"listen" default:":27900" listen:"udp 27900"`
	// Sockets that share the address, {range}. One is enough for nearly all.
	Sockets int `key:"sockets" default:"1" range:"1 to 64"`
	// Goroutines that read from each socket, {range}.
	Readers int `key:"readers" default:"1" range:"1 to 64"`
	// Kernel receive buffer of each socket, {range}. The system may cap it: on
	// Linux, net.core.rmem_max does.
	ReadBuffer int `key:"read_buffer" default:"4MiB" range:"4KiB to 1GiB"`
	// Hosts kept in memory at a time that have not yet answered their challenge,
	// {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// Packets per second, without heartbeats that are as long as their answer,
	// accepted from an address that has not yet proved that it is its own, {range}.
	// What is above is dropped and counted.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Packets that an unproved address may send at once before the rate applies,
	// {range}. Many hosts behind one router start together after a power cut.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Availability of games that are not in the catalogue, true or false. false:
	// they are told "available", true: "unavailable".
	StrictAvailability bool `key:"strict_availability" default:"false" live:"true"`
	// Maintenance, true or false. true: all games are told that the service is
	// temporarily unavailable. Hosts that are listed stay listed.
	Maintenance bool `key:"maintenance" default:"false" live:"true"`
	// Tell a host why it is refused, true or false. Some games show the text.
	AddError bool `key:"adderror" default:"true" live:"true"`
	// Reachability probe, true or false. After a host has proved its address it is
	// asked again from a second port, to learn whether strangers can reach it. The
	// second socket takes any free port.
	Probe bool `key:"probe" default:"true"`
	// A host that was silent for this long leaves the list, {range}. Hosts speak
	// every 20 seconds, so the default forgives three lost packets.
	Expire time.Duration `key:"expire" default:"75s" range:"30s to 1h" live:"true"`
}

// Master is section master.
type Master struct {
	// Servers in the list, {range}. New ones beyond it are refused.
	MaxServers int `key:"max_servers" default:"200000" range:"1 to 10000000" live:"true"`
	// Servers from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"256" range:"1 to 10000000" live:"true"`
	// Servers from one network of 256 addresses (/24), {range}.
	MaxPerNet int `key:"max_per_net" default:"4096" range:"1 to 10000000" live:"true"`
	// How often the list is saved in data_dir, {range}. A crash forgets at most
	// what came since.
	SaveEvery time.Duration `key:"save_every" default:"1m" range:"1s to 1h" live:"true"`
	// After a start, servers from the saved list stay listed for this long without
	// a sign of life, {range}. 0s: start with an empty list.
	RestoreFor time.Duration `key:"restore_for" default:"90s" range:"0s to 1h"`
}

// ServerBrowse is section serverbrowse.
type ServerBrowse struct {
	// TCP address. Games expect port 28910.
	Listen string `key:"listen" default:":28910" listen:"tcp 28910"`
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" default:"4096" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
	// Time for the first byte of a new connection, {range}.
	FirstByte time.Duration `key:"first_byte" default:"10s" range:"1s to 5m"`
	// A connection on which nothing arrives for this long is closed, {range}.
	Idle time.Duration `key:"idle" default:"120s" range:"5s to 24h"`
	// Time for a client to take what is sent to it, {range}.
	Write time.Duration `key:"write" default:"15s" range:"1s to 5m"`
	// How often a quiet connection is sent a keepalive, {range}. One that answers
	// neither of two is closed. Keep it well below serverbrowse.idle.
	KeepAlive time.Duration `key:"keepalive" default:"30s" range:"5s to 1h"`
	// Longest filter of a request in bytes, {range}.
	MaxFilter int `key:"max_filter" default:"1024" range:"16 to 1024"`
	// Push updates, true or false. true: a client that asked for them hears of
	// servers that come, change or go while it stays connected.
	Push bool `key:"push" default:"true"`
	// Messages per second from one connection that are passed on to game hosts,
	// {range}.
	MessageRate int `key:"message_rate" default:"5" range:"1 to 10000"`
	// Messages that one connection may send at once before the rate applies,
	// {range}.
	MessageBurst int `key:"message_burst" default:"20" range:"1 to 10000"`
	// What happens to a filter that cannot be read, true or false. true: it is
	// ignored and logged, and the client gets all servers. false: the client gets
	// an error.
	LenientFilter bool `key:"lenient_filter" default:"true"`
}

// LegacyList is section legacylist.
type LegacyList struct {
	// TCP address. Games expect port 28900.
	Listen string `key:"listen" default:":28900" listen:"tcp 28900"`
	// Connections at a time, {range}. Each is over once it has its list.
	MaxConns int `key:"max_conns" default:"1024" range:"1 to 1000000" live:"true"`
	// Connections at a time from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections from one address at once before the rate applies, {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
	// Time for a client to ask for its list, {range}. One that says nothing at all
	// is let go after 10s even if this is longer.
	RequestTime time.Duration `key:"request_time" default:"30s" range:"1s to 1m"`
	// Who may read a list without encryption, true or false. true: only a client
	// that proves that it knows its game's key. false: everybody; tools such as
	// qstat prove nothing. A game's own policy comes first.
	StrictValidate bool `key:"strict_validate" default:"false"`
	// What happens to a filter that cannot be read, true or false. true: it is
	// ignored and logged, and the client gets all servers. false: the client gets
	// an error.
	LenientFilter bool `key:"lenient_filter" default:"true"`
}

// Accounts is section accounts.
type Accounts struct {
	// File with the key that seals passwords, made at the first start if missing.
	// Without it the accounts in data_dir are worthless, so it is part of every
	// backup. Empty: account.key in data_dir.
	KeyFile string `key:"key_file" as:"text"` // as configured, may be empty: use Config.AccountKeyFile
	// Keeps the passwords themselves, sealed, true or false. Games sign in without
	// it; the statistics service of some games will need it.
	KeepPasswords bool `key:"keep_passwords" default:"false"`
}

// AccountKeyFile returns the path of the key that seals what must stay secret
// of accounts: accounts.key_file, or account.key in the data folder.
func (c *Config) AccountKeyFile() string {
	if c.Accounts.KeyFile != "" {
		return c.Accounts.KeyFile
	}
	return filepath.Join(c.DataDir, "account.key")
}

// GPCM is section gpcm.
type GPCM struct {
	// TCP address. Games expect port 29900.
	Listen string `key:"listen" default:":29900" listen:"tcp 29900"`
	// Open connections, {range}. A player who is signed in needs one.
	MaxConns int `key:"max_conns" default:"32768" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}. A LAN party is one address.
	MaxPerAddr int `key:"max_per_addr" default:"64" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
	// Time from the connection to the login, {range}.
	LoginTime time.Duration `key:"login_time" default:"30s" range:"5s to 10m"`
	// How often a quiet connection is sent a keepalive, {range}. Clients speak up
	// after two minutes of silence.
	KeepAlive time.Duration `key:"keepalive" default:"90s" range:"5s to 1m55s"`
	// Time for a client to take what is sent to it, {range}.
	Write time.Duration `key:"write" default:"60s" range:"1s to 10m"`
	// How often a client that is signed in gets a new login ticket, {range}.
	TicketRenewal time.Duration `key:"ticket_renewal" default:"24h" range:"1m to 47h"`
	// Accounts and profiles that one address may create per minute, {range}. 0: no
	// bound.
	Registrations int `key:"registrations" default:"60" range:"0 to 1000000" live:"true"`
	// What a second login of the same player ends: {words}. profile: the session
	// of that profile, user: those of all profiles of the account, allow: none.
	// This and the next three can be set for single games in their policy
	// (games.file).
	SecondLogin string `key:"second_login" default:"profile" words:"profile, user, allow" live:"true"`
	// Two players who asked each other become buddies without an answer, true or
	// false. Games with friend codes need it.
	AutoAccept bool `key:"auto_accept" default:"false" live:"true"`
	// Who removes a buddy disappears from that buddy's list too, true or false.
	SymmetricDelete bool `key:"symmetric_delete" default:"false" live:"true"`
	// Reports the user id as 0 at login, true or false. Some games of handhelds
	// want that.
	NoUserID bool `key:"no_user_id" default:"false" live:"true"`
}

// GPSP is section gpsp.
type GPSP struct {
	// TCP address. Games expect port 29901.
	Listen string `key:"listen" default:":29901" listen:"tcp 29901"`
	// Open connections, {range}.
	MaxConns int `key:"max_conns" default:"8192" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}. Games open one for
	// each question.
	Rate int `key:"rate" default:"20" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" default:"400" range:"1 to 1000000" live:"true"`
	// A connection on which no whole question arrives for this long is closed,
	// {range}.
	Idle time.Duration `key:"idle" default:"60s" range:"5s to 10m"`
	// Time for a client to take what is sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`
	// Questions about players that one address may ask per minute, {range}. 0: no
	// bound. It keeps names and addresses from being collected.
	Lookups int `key:"lookups" default:"200" range:"0 to 1000000" live:"true"`
	// Accounts that one address may create per minute, {range}. 0: no bound.
	Registrations int `key:"registrations" default:"60" range:"0 to 1000000" live:"true"`
	// Tells less, true or false. true: whether an e-mail address has an account
	// cannot be found out, and its nicks are told only to who has the password.
	Private bool `key:"private" default:"false" live:"true"`
}

// ZanMaster is section zanmaster.
type ZanMaster struct {
	// UDP address. Servers and launchers expect port 15300.
	Listen string `key:"listen" default:":15300" listen:"udp 15300"`
	// Sockets that share the address, {range}.
	Sockets int `key:"sockets" default:"1" range:"1 to 64"`
	// Goroutines that read from each socket, {range}.
	Readers int `key:"readers" default:"1" range:"1 to 64"`
	// Kernel receive buffer of each socket, {range}. The system may cap it.
	ReadBuffer int `key:"read_buffer" default:"4MiB" range:"4KiB to 1GiB"`
	// Folder of banlist.txt, whitelist.txt, blocklist.txt and
	// multiserver_whitelist.txt, which need not exist. They stand beside the bans
	// of `respawnd ban`. Empty: data_dir.
	BanFiles string `key:"ban_files" as:"text"` // as configured, may be empty: use Config.ZandronumBanFiles
	// How often the ban files are looked at for changes, {range}. 0s: only at the
	// start and on SIGHUP. Less than 1s counts as 1s.
	BanFilesPoll time.Duration `key:"ban_files_poll" default:"2s" range:"0s to 1h"` // 0: never
	// What happens to servers that do not enforce the ban list: {words}. mark:
	// they are listed, and carry a warning on our own pages.
	NotEnforcing string `key:"not_enforcing" default:"hide" words:"hide, show, mark" live:"true"`
	// Servers from one address, {range}. 0: no bound of its own. Addresses in
	// multiserver_whitelist.txt are exempt.
	ServersPerAddress int `key:"servers_per_address" default:"10" range:"0 to 65535" live:"true"`
	// A server that was silent for this long leaves the list, {range}. Servers
	// speak every 30 seconds.
	Timeout time.Duration `key:"timeout" default:"70s" range:"1m1s to 10m" live:"true"`
	// Servers kept in memory at a time that have not yet verified their address,
	// {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// Verification requests per second to one address that are longer than what
	// asked for them, {range}. Only servers of old builds get such.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Such requests to one address at once before the rate applies, {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Answers requests for the old form of the list, true or false.
	OldList bool `key:"old_list" default:"true" live:"true"`
	// How long an address waits for its next list, {range}. 0s: it does not. Lists
	// are larger than requests, so this keeps others from being flooded.
	ListWindow time.Duration `key:"list_window" default:"10s" range:"0s to 10m" live:"true"`
	// Lists for each network of 256 addresses (/24) in ten seconds, {range}. 0: no
	// bound.
	ListsPerNet int `key:"lists_per_net" default:"256" range:"0 to 10000000" live:"true"`
	// Lists for everybody in ten seconds, {range}. 0: no bound.
	ListsTotal int `key:"lists_total" default:"0" range:"0 to 10000000" live:"true"`
	// Address under which servers with a private or loopback address are listed for
	// everybody, those in their own network included. It is net.advertise_as, too,
	// where that is empty. Empty: net.advertise_as decides.
	AdvertiseAs netip.Addr `key:"advertise_as" live:"true"` // zero: off
	// Networks whose servers are listed, at most 256. Empty: everybody's.
	AllowServers []netip.Prefix `key:"allow_servers" live:"true"`
	// Networks that are sent the list, at most 256. Empty: everybody.
	AllowLaunchers []netip.Prefix `key:"allow_launchers" live:"true"`
	// Asks listed servers for their name, map and players, true or false.
	Query bool `key:"query" default:"true" live:"true"`
	// How often each listed server is asked, {range}.
	QueryEvery time.Duration `key:"query_every" default:"60s" range:"1m to 1h" live:"true"`
}

// ValveMaster is section valvemaster.
type ValveMaster struct {
	// UDP address. The usual port is 27010.
	Listen string `key:"listen" default:":27010" listen:"udp 27010"`
	// Sockets that share the address, {range}.
	Sockets int `key:"sockets" default:"1" range:"1 to 64"`
	// Goroutines that read from each socket, {range}.
	Readers int `key:"readers" default:"1" range:"1 to 64"`
	// Kernel receive buffer of each socket, {range}. The system may cap it.
	ReadBuffer int `key:"read_buffer" default:"4MiB" range:"4KiB to 1GiB"`
	// Servers from one address, {range}. 0: no bound of its own.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// A server that sent no heartbeat for this long is no longer asked and leaves,
	// {range}. Servers send one every one to five minutes. One that does not
	// answer A2S any more leaves earlier.
	Timeout time.Duration `key:"timeout" default:"15m" range:"6m to 24h" live:"true"`
	// Answers per second to an address that has not proved that it receives them,
	// {range}: challenges, and the first, small pages of the list.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Answers that an unproved address may get at once before the rate applies,
	// {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Pages of the list for one address in ten seconds, {range}. 0: no bound. A
	// page has up to 230 servers. A costly filter takes several.
	PagesPerAddr int `key:"pages_per_addr" default:"256" range:"0 to 10000000" live:"true"`
	// Pages for each network of 256 addresses (/24) in ten seconds, {range}. 0: no
	// bound.
	PagesPerNet int `key:"pages_per_net" default:"1024" range:"0 to 10000000" live:"true"`
}

// ZandronumBanFiles returns the folder of the ban files of Zandronum's master:
// zanmaster.ban_files, or the data folder if that is empty.
func (c *Config) ZandronumBanFiles() string {
	if c.ZanMaster.BanFiles != "" {
		return c.ZanMaster.BanFiles
	}
	return c.DataDir
}

// NATNeg is section natneg.
type NATNeg struct {
	// UDP address. Games expect port 27901.
	Listen string `key:"listen" default:":27901" listen:"udp 27901"`
	// Further UDP addresses that answer the same, at most 256. With two or three
	// addresses on this machine, the kind of a player's router is recognised
	// better. A machine with several public addresses that listens on all of them
	// needs none. Unused while natneg.listen is empty.
	ExtraListen []string `key:"extra_listen" as:"extralisten"` // further addresses; none of them is empty
	// Negotiations open at a time, {range}. Beyond it, the oldest one whose second
	// player has not come makes room.
	MaxOpen int `key:"max_open" default:"100000" range:"1 to 10000000" live:"true"`
	// Negotiations open at a time that one address began, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"512" range:"1 to 10000000" live:"true"`
	// Packets per second accepted from one address, {range}.
	Rate int `key:"rate" default:"40" range:"1 to 1000000" live:"true"`
	// Packets that one address may send at once before the rate applies, {range}.
	// A household of 16 players sends 64 at once.
	Burst int `key:"burst" default:"200" range:"1 to 1000000" live:"true"`
	// The test whether strangers can reach a player needs a further address. Where
	// there is none it is not answered, and the player's game waits 10 seconds at
	// it. true: it is answered all the same, and players who are behind a strict
	// router may be taken for reachable. true or false.
	AssumeUnrestricted bool `key:"assume_unrestricted" default:"false" live:"true"`
}

// LAN is section lan.
type LAN struct {
	// Searches, true or false. true: everybody on these networks is asked with
	// broadcasts on the query ports of all known games, and who answers is listed.
	// Servers of Zandronum that announce themselves (UDP 15101) are asked as well.
	Discover bool `key:"discover" default:"false"`
	// How often everybody on the networks is asked, {range}. A server that was
	// found leaves the list after three times without an answer.
	Every time.Duration `key:"every" default:"30s" range:"5s to 1h"`
}

// Probe is section probe.
type Probe struct {
	// How often each game server is asked, {range}. One that does not answer
	// leaves the list after three times.
	Every time.Duration `key:"every" default:"1m" range:"10s to 1h" live:"true"`
	// Game servers that are asked per second, {range}. If there are more than it
	// allows, each is asked less often.
	Rate int `key:"rate" default:"200" range:"1 to 10000" live:"true"`
	// Game servers that are asked at all, {range}. Those that an operator named
	// are not counted.
	MaxServers int `key:"max_servers" default:"50000" range:"1 to 10000000" live:"true"`
	// Games that are not in the catalogue and servers may name, {range}. Servers
	// of further ones are not listed.
	MaxGames int `key:"max_games" default:"1024" range:"1 to 1000000" live:"true"`
}

// Servers is section servers.
type Servers struct {
	// PROTOCOL HOST:PORT of each, such as "a2s 192.0.2.1:27015"; the protocol is
	// gs1, gs3, a2s, ssq or zandronum. At most 256 entries. Host names are looked
	// up again from time to time. `respawnd server add` needs no restart.
	Static []configs.StaticServer `key:"static" live:"true"`
}

// Web is section web.
type Web struct {
	// TCP address, plain HTTP. For HTTPS put a proxy in front.
	Listen string `key:"listen" default:":8080" listen:"tcp 8080"`
	// Address under which the outside reaches these pages, http or https, such as
	// https://servers.example.org. Used in links. Empty: links are relative.
	PublicURL string `key:"public_url" as:"publicurl"` // empty, or http(s)://host[:port][/path] without a final slash
	// IPv4 address that the pages tell players to use, in lines for hosts files.
	// Empty: that of public_url's host, else the one that the visitor reached.
	GameAddress netip.Addr `key:"game_address"` // IPv4; zero: found out
	// Players make and change their accounts on the pages, true or false. Without
	// HTTPS, passwords can be read on the way; the pages say so.
	Accounts bool `key:"accounts" default:"true" live:"true"`
	// Forms of account pages that one address may send per minute, {range}. 0: no
	// bound.
	Forms int `key:"forms" default:"60" range:"0 to 1000000" live:"true"`
	// Accounts that one address may make on the pages per minute, {range}. 0: no
	// bound.
	Registrations int `key:"registrations" default:"20" range:"0 to 1000000" live:"true"`
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" default:"8192" range:"1 to 1000000"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"2048" range:"1 to 1000000"`
	// Requests per second from one address, {range}. 0: no bound.
	Rate int `key:"rate" default:"100" range:"0 to 1000000" live:"true"`
	// Requests that one address may send at once before the rate applies, {range}.
	Burst int `key:"burst" default:"1000" range:"1 to 1000000" live:"true"`
	// Networks of your proxies, at most 256. Only what these say about a visitor's
	// address (X-Forwarded-For) is believed. Empty: nobody is believed.
	TrustedProxies []netip.Prefix `key:"trusted_proxies" live:"true"` // masked
	// Open streams of /api/v1/events, {range}. A thousand take about 30 MiB.
	MaxStreams int `key:"max_streams" default:"4096" range:"1 to 1000000" live:"true"`
	// Open streams from one address, {range}.
	MaxStreamsPerAddr int `key:"max_streams_per_addr" default:"1024" range:"1 to 1000000" live:"true"`
}

// Admin is section admin.
type Admin struct {
	// TCP address, plain HTTP. Keep it on the loopback address, or behind a proxy
	// with HTTPS: whoever has the token can do everything.
	Listen string `key:"listen" default:"127.0.0.1:8081" listen:"tcp 8081"`
	// File with the token of the admin API and page, made at the first start if
	// missing. Empty: admin.token in data_dir.
	TokenFile string `key:"token_file" as:"text"` // as configured, may be empty: use Config.AdminTokenFile
	// Host names under which the page may be opened, beside localhost and IP
	// addresses, such as admin.example.org of a proxy in front of it.
	Names []string `key:"names" as:"domain"` // lower case, without a final dot
	// How many entries the audit log keeps, {range}. Beyond that the oldest go.
	// What players change of their accounts has as many for itself.
	AuditEntries int `key:"audit_entries" default:"10000" range:"100 to 1000000" live:"true"`
	// How many of the last log lines the page can show, {range}.
	LogLines int `key:"log_lines" default:"1000" range:"10 to 100000"`
}

// SSQ is section ssq.
type SSQ struct {
	// UDP address. The usual port is 26999.
	Listen string `key:"listen" default:":26999" listen:"udp 26999"`
	// Password with which a tool may see private columns, such as the address that
	// a server reports from. It travels in the clear. 8 to 128 ASCII characters
	// without blanks, quotes and backslashes. Empty: nobody sees them.
	Password string `key:"password" as:"password" live:"true" secret:"true"` // for private columns; empty: nobody sees them
	// Bytes that an address which has proved itself may be sent per second,
	// {range}. Four seconds' worth may be sent at once. Searching the list counts
	// as well: one byte for each server and more for comparisons.
	BytesPerAddr int `key:"bytes_per_addr" default:"64KiB" range:"4KiB to 1GiB" live:"true"`
	// Bytes that all addresses of a /24 together may be sent per second, {range}.
	BytesPerNet int `key:"bytes_per_net" default:"256KiB" range:"4KiB to 1GiB" live:"true"`
}

// DNS is section dns.
type DNS struct {
	// Runs the DNS server, true or false. Off, because port 53 is often taken.
	Enabled bool `key:"enabled" default:"false"`
	// UDP address, and TCP with the same port. Players' machines expect port 53.
	// If another program has it on one address only, name another address here.
	Listen string `key:"listen" default:":53" listen:"udp+tcp 53"`
	// Address for clients on none of this machine's networks. Empty: the one that
	// they asked.
	Address netip.Addr `key:"address"` // zero: the one that the client asked
	// DNS servers that are asked for all other names, at most 256, such as
	// 192.168.1.1 or 192.168.1.1:53, in this order. Empty: those names are
	// refused, and players cannot use the internet by name.
	Upstreams []netip.AddrPort `key:"upstreams"`
	// Networks whose clients are answered, at most 256, besides private, loopback
	// and link-local addresses. Others get no answer: a DNS server that answers
	// everybody is soon used to flood others.
	Allow []netip.Prefix `key:"allow" live:"true"`
	// Questions per second of each address, {range}.
	Rate int `key:"rate" default:"50" range:"1 to 1000000" live:"true"`
	// Questions of an address that may come at once, {range}.
	Burst int `key:"burst" default:"200" range:"1 to 1000000" live:"true"`
	// Questions to upstreams under way at a time, {range}.
	MaxForwards int `key:"max_forwards" default:"256" range:"1 to 10000"`
}

// GStats is section gstats.
type GStats struct {
	// TCP address. Games expect port 29920, so it will be ":29920".
	Listen string `key:"listen" listen:"tcp 29920"`
}

// CDKey is section cdkey.
type CDKey struct {
	// UDP address. Games expect port 29910, so it will be ":29910".
	Listen string `key:"listen" listen:"udp 29910"`
}

// Peerchat is section peerchat.
type Peerchat struct {
	// TCP address. Games expect port 6667, so it will be ":6667".
	Listen string `key:"listen" listen:"tcp 6667"`
}

// WebServices is section webservices.
type WebServices struct {
	// TCP address. Games expect port 80, so it will be ":80".
	Listen string `key:"listen" listen:"tcp 80"`
}

// Catalogue is section games.
type Catalogue struct {
	// File with your own games, in the form of the built-in catalogue. It adds
	// games, and changes of a built-in game just what it states. Empty: none.
	File string `key:"file" as:"text" live:"true"` // empty: built-in games only
	// Domains under which games look for their services, 1 to 256 entries. Used by
	// `respawnd hosts` and the DNS server. A name of 11 letters, as long as
	// gamespy.com, can be patched into a game in place of it.
	Domains []string `key:"domains" required:"true" default:"gamespy.com" as:"domain"` // lower case, without a final dot; at least one
}

// GeoIP is section geoip.
type GeoIP struct {
	// Country or city database in MaxMind's format (.mmdb). Empty: servers get no
	// country, and filters on it find nothing.
	File string `key:"file" as:"text"` // empty: no countries
}

// AdminTokenFile returns the path of the file that holds the token of the admin
// API: admin.token_file, or admin.token in the data folder if that is empty.
func (c *Config) AdminTokenFile() string {
	if c.Admin.TokenFile != "" {
		return c.Admin.TokenFile
	}
	return filepath.Join(c.DataDir, "admin.token")
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
