package service

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/mail"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/news"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Env holds the parts of the daemon that a service may use, by subject. The service must
// not modify the fields; all methods and functions may be used concurrently.
type Env struct {
	part.Self // of the service; its metrics are those of Counted
	part.Listing
	part.Catalogue
	Network
	GameServers
	Players
	Talk
	Operations

	Verdicts Verdicts
	// Chat is the chat, one without rooms if it is off. It works once the daemon
	// serves.
	Chat Chat
	// Relay relays players; NoRelay if no service does. It works once the daemon
	// serves.
	Relay Relay
	// Cluster connects this node to the others; nil on a lone one.
	Cluster cluster.Bus
}

// Network is where this machine is reached, and what is known of addresses.
type Network struct {
	// Host returns the host of the address, in the configuration, of the first service that is on
	// and has a noun. It is empty if there is none, and for one that listens on all addresses.
	Host func(noun.Noun) string
	// UDPHost is the host that all UDP services listen on. If they differ it is
	// empty, for all addresses: packets to a server then leave from the address
	// that the route selects.
	UDPHost string
	// Further are addresses of this machine, host:port as in the configuration, from
	// which a service may send too.
	Further []string
	// Own has the addresses at which UDP services of this daemon listen.
	Own part.Sockets
	// Tap takes what is recorded of an address.
	Tap *netserve.Tap
	// Guests are the protocols whose clients expect them at the port of qr2 too.
	Guests *netserve.Guests
	// Trusted has the addresses in net.trusted, by the present settings.
	Trusted netserve.AddrSet
	// Locate returns where an address is; nil: unknown.
	Locate part.Places
	// Banned returns whether an address is banned in a scope, by an entry of Bans.
	Banned func(scope storage.Scope, a netip.Addr) bool
	Bans   *bans.Table
	// FileBans returns the lines of the ban files in force that cover an address.
	FileBans func(netip.Addr) ([]operator.FileBan, error)
}

// GameServers are the ways to the game servers of the list.
type GameServers struct {
	// Messenger delivers messages to listed servers; nil: not possible.
	Messenger master.Messenger
	// Met notes that players reached the server at an address, if there is one,
	// by NAT negotiation.
	Met func(netip.AddrPort)
	// Meetings counts how players who negotiated reached each other, on this node.
	Meetings *meeting.Recorder
	// Recheck has a listed server tested at once for whether it lets in strangers. It
	// returns false if nothing tests servers of its origin.
	Recheck func(*master.Server) bool
	// Asker queries game servers. It works once the daemon serves.
	Asker Asker
	// AskEvery returns the present intervals at which servers are queried although they report by
	// themselves, by origin; those of others are not.
	AskEvery func() map[*master.Origin]time.Duration
	// Protocols are the names of the protocols in which servers can be queried.
	Protocols []string
}

// Players is what is kept of players and for them.
type Players struct {
	Store    storage.Store
	Accounts *accounts.Service
	Hub      presence.Hub
	Keys     *cdkeys.Table // CD keys of products
	Files    *files.Table  // that players uploaded
	News     *news.Table   // messages that games show at their start
	Played   *played.Table // what they reported of games
	Stats    *stats.Book   // data that games store for players
	Lobby    *lobby.Lobby  // what the sign-in of EA's games shares with their list
	// Mail returns the present settings of mail to players.
	Mail func() mail.Config
	// Private reports whether strangers must not learn which accounts exist, by
	// the present settings.
	Private func() bool
}

// Talk is what the chat must know and report. Said and Up never wait.
type Talk struct {
	Rules *chatrules.Table                 // decisions of operators about players; nil: none
	Said  func(channel, nick, text string) // reports a line of a player
	Up    func(channel string)             // reports a channel that got its first member
}

// Operations is the daemon as its operator sees it.
type Operations struct {
	Operator operator.Conn // executes commands
	// Ready returns an error until the daemon serves.
	Ready func() error
	// Trouble returns a problem for the operator although the daemon serves, such as a lost node of
	// the cluster; nil: nothing.
	Trouble  func() error
	Tail     *logtail.Ring       // the last lines of the log
	Gatherer prometheus.Gatherer // of all metrics
	// Opened returns the services that run, in the order in which they were opened.
	Opened func() []Opened
}

// Verdicts are the logs of verdicts.
type Verdicts struct {
	Servers *verdicts.Log // why servers are listed or not
	Players *verdicts.Log // lists, sign-in, negotiation
}

// Opened is a service whose sockets are open.
type Opened struct {
	Name, Title string
	Address     fmt.Stringer
	Connect     string                                      // see Descriptor
	Nouns       []noun.Noun                                 // see Descriptor
	Files       func(put func(name string, content []byte)) // see Running; nil: none
}

// Waiting returns how many players are in the chat room of a group room.
func (e *Env) Waiting(group uint32) int { return e.Chat.Members(operator.GroupChannel(group)) }

// BannedFrom returns the addresses that are banned in a scope.
func (e *Env) BannedFrom(scope storage.Scope) netserve.AddrSet {
	return func(a netip.Addr) bool { return e.Banned(scope, a) }
}

// Counted returns Self with the metrics that all services have: packets, connections and
// drops for the given reasons. They are registered then.
func (e *Env) Counted(reasons ...string) part.Self {
	s := e.Self
	s.Metrics = netserve.NewMetrics(s.Registerer, s.Name, reasons...).Tapped(e.Tap)
	return s
}
