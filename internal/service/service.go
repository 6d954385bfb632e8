// Package service is the contract between the daemon and its services: the
// parts that the daemon gives a service, and those that a service returns.
//
// A protocol package declares its settings as a Config, see package configs, and
// opens itself from them: *Config is a Service. The package knows no protocol, and
// starts, stops and reloads nothing; the daemon does.
package service

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Service is the configuration of a service, which opens it. The configuration
// is complete and checked, and is not modified.
type Service interface {
	// Describe describes the service as it is configured.
	Describe() Descriptor
	// Open opens the sockets of the service. It starts no goroutine. After an
	// error nothing is open.
	Open(ctx context.Context, env *Env) (*Running, error)
}

// Running is a service whose sockets are open. Address, Serve and Close are
// required.
type Running struct {
	// Address is the address of the service for clients; for a service without a socket it
	// describes its objects in words, empty while there are none.
	Address fmt.Stringer
	// UDP lists the UDP sockets of the service, where no game server can be.
	UDP []netip.AddrPort
	// Ports are UDP ports that it opens besides the addresses of its keys, such as ":27655" or
	// ":40000-40999". Those that the system chooses are left out.
	Ports []string
	// Serve serves until ctx ends, and returns nil then.
	Serve func(ctx context.Context) error
	// Reload applies the live keys of a configuration of the same type as the
	// Service that was opened. nil: there are none.
	Reload func(Service)
	// Close closes the sockets. It is called once, after Serve has returned or
	// instead of Serve.
	Close func() error

	// Asker is set by the service that queries game servers.
	Asker Asker
	// Chat is set by the service that is the chat.
	Chat Chat
	// Masters is set by the service that reads other masters: their states.
	Masters func() []operator.OtherMaster
	// Relay is set by the service that relays players, and RelayedPairs with it.
	Relay        Relay
	RelayedPairs func() []operator.RelayedPair
	// Keeper is set by a service that lists game servers.
	Keeper *Keeper
}

// Keeper holds the functions of a service for the game servers that it lists.
// All but Origin are optional. The functions may be called concurrently.
type Keeper struct {
	Origin master.Origin // of its servers

	Expired  func(*master.Server) // a server was silent for too long and has left the list
	Replaced func(*master.Server) // a server was removed from the list for a new one
	Met      func(netip.AddrPort) // players reached the server at an address by NAT negotiation
	Relayed  func(netip.AddrPort) // players reached the server at an address through a relay
	// Recheck tests at once whether the server lets in strangers; false: it cannot.
	Recheck  func(*master.Server) bool
	Exempt   func(netip.Addr) bool // reports whether the list's limits per address do not apply
	Unlisted func() []Unlisted     // servers that it knows but does not list
	// FileBans returns the lines of its ban files that cover an address, all of them
	// if it is zero.
	FileBans func(netip.Addr) []operator.FileBan
	// Messenger delivers messages of players to them.
	Messenger master.Messenger
}

// Unlisted is a game server that a service knows but does not list.
type Unlisted struct {
	Game        string // empty: not known
	Address     netip.AddrPort
	Why         verdicts.Verdict
	First, Seen time.Time
}

// Asker queries game servers for their status and players. Its methods may be
// called concurrently.
type Asker interface {
	// Watch queries a server regularly from now on, in a protocol such as
	// "a2s", and lists it under an origin while it answers.
	Watch(a netip.AddrPort, protocol string, o master.Origin) error
	// Answers reports whether a server answered the last query.
	Answers(netip.AddrPort) bool
	// Unwatch ends Watch.
	Unwatch(netip.AddrPort, master.Origin)
	// Consider queries a server that another master listed, as Watch does under origin
	// Federated. Unlike there the caller names the game, if it knows it.
	Consider(Candidate) error
	// Watches reports whether an origin watches a server: one that is silent for long
	// is forgotten.
	Watches(netip.AddrPort, master.Origin) bool
	// Status queries a listed server now. The answer may be some seconds old.
	Status(ctx context.Context, public netip.AddrPort) (query.Status, error)
	// Check returns an error for a server that cannot be queried, and brings
	// its address and game into their stored form.
	Check(*storage.AddedServer) error
	// Name replaces the servers added by an operator.
	Name([]storage.AddedServer)
	// Named returns the state of the servers added by an operator.
	Named() []operator.AskedServer
}

// Candidate is a server that another master lists.
type Candidate struct {
	Address  netip.AddrPort
	Protocol string // in which it is queried, such as "gs1"
	Game     string // under which it is listed; empty: the one that it names
	Told     string // name of the other master
}

// Opened is a service whose sockets are open.
type Opened struct {
	Name, Title string
	Address     fmt.Stringer
}

// Env holds the parts of the daemon that a service may use. The service must
// not modify the fields; all methods and functions may be used concurrently.
type Env struct {
	Name    string // of the service, as in its keys
	Version string // of the program
	Master  string // identity of the daemon, by which others recognize it; made up at each start
	DataDir string // folder of all data that survives a restart

	// Cluster connects this node to the others; nil on a lone one.
	Cluster cluster.Bus

	List      *master.Registry
	Games     *games.Catalog
	Rooms     func(game string) []games.Room                          // of the operator; may block
	Room      func(id uint32) (room games.Room, game string, ok bool) // of the catalogue or the operator; never blocks
	Names     *games.Names                                            // host names that lead to this machine
	Addresses *advertise.Table                                        // which address of a server a client gets
	Servers   *verdicts.Log                                           // verdicts on servers: why they are listed or not
	Players   *verdicts.Log                                           // verdicts on players: lists, sign-in, negotiation
	Messenger master.Messenger                                        // sends to listed servers; nil: not possible
	// FileBans returns the lines of the ban files in force that cover an address.
	FileBans func(netip.Addr) ([]operator.FileBan, error)
	// Met notes that players reached the server at an address, if there is one,
	// by NAT negotiation.
	Met func(netip.AddrPort)
	// Recheck has a listed server tested at once for whether it lets in strangers. It
	// returns false if nothing tests servers of its origin.
	Recheck func(*master.Server) bool
	// Meetings counts how players who negotiated reached each other, on this node.
	Meetings *meeting.Recorder

	// Host returns the host of the address of a service in the configuration. It is
	// empty for a service that is off, and for one that listens on all addresses.
	Host func(service string) string
	// UDPHost is the host that all UDP services listen on. If they differ it is
	// empty, for all addresses: packets to a server then leave from the address
	// that the route selects.
	UDPHost string
	// Domains are the domains under which games look up their services.
	Domains []string
	// Focus are the names of the games of this community; none: all games are
	// equal.
	Focus []string
	// Served returns whether games can use a service. The result does not
	// change.
	Served func(games.Service) games.Served
	// Nouns are those that exist here. Docs are the pages of the documentation that services
	// are about, and whether one of those is on.
	Nouns noun.Set
	Docs  map[string]bool
	// Started is when the daemon started.
	Started time.Time
	// Opened returns the services that run, in the order in which they were opened.
	Opened func() []Opened
	// Protocols are the names of the protocols in which servers can be queried.
	Protocols []string
	// Operator executes the operator's commands.
	Operator operator.Operator
	// Ready returns an error until the daemon serves.
	Ready func() error
	// Trouble returns a problem for the operator although the daemon serves, such as a lost node of
	// the cluster; nil: nothing.
	Trouble func() error
	// Tail has the last lines of the log.
	Tail *logtail.Ring
	// Gatherer has all metrics.
	Gatherer prometheus.Gatherer
	// Private reports whether strangers must not learn which accounts exist, by
	// the present settings.
	Private func() bool
	// Mail returns the present settings of mail to players.
	Mail func() mail.Config
	// Further are addresses of this machine, host:port as in the configuration, from
	// which a service may send too.
	Further []string
	// Locate returns the country (ISO 3166 alpha-2) and region of an address;
	// nil: unknown.
	Locate func(netip.Addr) (country, region string)
	// Own returns whether a UDP service of this daemon listens on an address.
	Own func(netip.AddrPort) bool
	// Asker queries game servers. It works once the daemon serves.
	Asker Asker
	// AskEvery returns the present interval at which servers of an origin are
	// queried although they report by themselves; 0: never.
	AskEvery func(master.Origin) time.Duration

	// Chat is the chat, one without rooms if it is off. It works once the daemon
	// serves.
	Chat Chat
	// Relay relays players; NoRelay if no service does. It works once the daemon
	// serves.
	Relay Relay

	// ChatSaid and ChatUp report a line of a player, and a channel that got its first
	// member. They never wait.
	ChatSaid func(channel, nick, text string)
	ChatUp   func(channel string)

	Bans      *bans.Table
	ChatRules *chatrules.Table // decisions of operators about players in chat
	Keys      *cdkeys.Table    // CD keys of products
	Files     *files.Table     // that players uploaded
	News      *news.Table      // messages that games show at their start
	Stats     *stats.Book      // data that games store for players
	Store     storage.Store
	Accounts  *accounts.Service
	Hub       presence.Hub

	// Banned returns whether an address is banned in a scope.
	Banned func(scope storage.Scope, a netip.Addr) bool
	// Trusted returns whether an address is in net.trusted, by the present
	// settings.
	Trusted func(netip.Addr) bool

	Log        zerolog.Logger // its lines name the service
	Registerer prometheus.Registerer
}

// Waiting returns how many players are in the chat room of a group room.
func (e *Env) Waiting(group uint32) int { return e.Chat.Members(operator.GroupChannel(group)) }

// BannedFrom returns Banned for one scope.
func (e *Env) BannedFrom(scope storage.Scope) func(netip.Addr) bool {
	return func(a netip.Addr) bool { return e.Banned(scope, a) }
}

// Metrics registers the metrics that all services have: packets, connections and
// drops for the given reasons.
func (e *Env) Metrics(reasons ...string) *netserve.Metrics {
	return netserve.NewMetrics(e.Registerer, e.Name, reasons...)
}
