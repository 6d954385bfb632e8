// Package service is what the daemon and a service agree on: what the daemon
// lends to a service, and what it is given back.
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
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Service is the configuration of a service, which opens it. The configuration is
// complete and checked, and is not changed.
type Service interface {
	// Describe describes the service as it is configured.
	Describe() Descriptor
	// Open opens the sockets of the service. It starts no goroutine. After an
	// error nothing is open.
	Open(ctx context.Context, env *Env) (*Running, error)
}

// Running is a service whose sockets are open. All of it but Reload is required.
type Running struct {
	// Address is where clients find the service.
	Address fmt.Stringer
	// UDP lists the UDP sockets of the service: no game server can be there.
	UDP []netip.AddrPort
	// Serve serves until ctx ends, and returns nil then.
	Serve func(ctx context.Context) error
	// Reload takes over the live keys of a configuration of the same type as the
	// Service that was opened. nil: there are none.
	Reload func(Service)
	// Close closes the sockets. It is called once, after Serve has returned or
	// instead of Serve.
	Close func() error

	// Asker is set by the service that asks game servers.
	Asker Asker
	// Keeper is what a service does that lists game servers; nil: it lists none.
	Keeper *Keeper
}

// Keeper is what a service does for the game servers that it lists. All of it but
// Origin is optional. The functions may be called concurrently.
type Keeper struct {
	Origin master.Origin // of its servers

	Expired  func(*master.Server)  // one was silent for too long and has left the list
	Replaced func(*master.Server)  // one made room in the list for a newcomer
	Met      func(netip.AddrPort)  // players got to the server at an address by NAT negotiation
	Exempt   func(netip.Addr) bool // whether the list's bounds per address do not bind one
	Unlisted func() []Unlisted     // those that it knows and does not list
	// Messenger delivers messages of players to them.
	Messenger master.Messenger
}

// Unlisted is a game server that a service knows and does not list.
type Unlisted struct {
	Game        string // empty: not known
	Address     netip.AddrPort
	Why         verdicts.Verdict
	First, Seen time.Time
}

// Asker has game servers asked what they play and who plays there. Its methods may
// be called concurrently.
type Asker interface {
	// Watch has a server asked from now on, in a protocol such as "a2s", and listed
	// under an origin while it answers.
	Watch(a netip.AddrPort, protocol string, o master.Origin) error
	// Answers reports whether a server answered when it was asked last.
	Answers(netip.AddrPort) bool
	// Unwatch ends Watch.
	Unwatch(netip.AddrPort, master.Origin)
	// Status asks a listed server now. The answer may be some seconds old.
	Status(ctx context.Context, public netip.AddrPort) (query.Status, error)
	// Check refuses a server that cannot be asked, and puts its address and game into
	// the form in which they are kept.
	Check(*storage.AddedServer) error
	// Name replaces the servers that an operator named.
	Name([]storage.AddedServer)
	// Named returns what is known of those.
	Named() []operator.AskedServer
}

// Opened is a service whose sockets are open.
type Opened struct {
	Name, Title string
	Address     fmt.Stringer
}

// Env is what the daemon lends to a service. The service changes none of the
// fields; all methods and functions may be used concurrently.
type Env struct {
	Name    string // of the service, as in its keys
	Version string // of the program
	DataDir string // folder of everything that survives a restart

	List      *master.Registry
	Games     *games.Catalog
	Rooms     func(game string) []games.Room // of the operator; may block
	Names     *games.Names                   // host names that lead to this machine
	Addresses *advertise.Table               // which address of a server an asker is given
	Servers   *verdicts.Log                  // why servers are listed or not
	Players   *verdicts.Log                  // how it went for players: lists, sign-in, negotiation
	Messenger master.Messenger               // to listed servers; nil: there is no way to them
	// Met notes that players got to a server by NAT negotiation, if there is one at
	// the address.
	Met func(netip.AddrPort)

	// Host returns the host of the address of a service in the configuration. It is
	// empty for a service that is off, and for one that listens on all addresses.
	Host func(service string) string
	// UDPHost is the host that all UDP services listen on. If they differ it is empty,
	// for all addresses: packets to a server leave from the one that leads there.
	UDPHost string
	// Domains are those under which games look for their services.
	Domains []string
	// Focus are the names of the games of this community; none: all games alike.
	Focus []string
	// Served says whether games can use a service. It does not change.
	Served func(games.Service) games.Served
	// Started is when the daemon started.
	Started time.Time
	// Opened returns the services that run, in the order in which they were opened.
	Opened func() []Opened
	// Protocols are the words for the protocols in which servers can be asked.
	Protocols []string
	// Operator is what an operator can do.
	Operator operator.Operator
	// Ready returns what is not ready yet; nil: the daemon serves.
	Ready func() error
	// Tail has the last lines of the log.
	Tail *logtail.Ring
	// Gatherer has all metrics.
	Gatherer prometheus.Gatherer
	// Private reports whether strangers must not learn who has an account, as it is
	// now.
	Private func() bool
	// Further are addresses of this machine, host:port as in the configuration, from
	// which a service may send too.
	Further []string
	// Locate returns the country (ISO 3166 alpha-2) and region of an address; nil:
	// they are not known.
	Locate func(netip.Addr) (country, region string)
	// Own returns whether a UDP service of this daemon listens on an address.
	Own func(netip.AddrPort) bool
	// Asker has game servers asked. It works once the daemon serves.
	Asker Asker
	// AskEvery returns how often servers of an origin are asked although they report
	// by themselves, as it is now; 0: never.
	AskEvery func(master.Origin) time.Duration

	Bans     *bans.Table
	Store    storage.Store
	Accounts *accounts.Service
	Hub      *presence.Local

	// Banned returns whether an address is banned from what a scope stands for.
	Banned func(scope storage.Scope, a netip.Addr) bool
	// Trusted returns whether an address is in net.trusted, as it is now.
	Trusted func(netip.Addr) bool

	Log        zerolog.Logger // its lines name the service
	Registerer prometheus.Registerer
}

// BannedFrom returns Banned for one scope.
func (e *Env) BannedFrom(scope storage.Scope) func(netip.Addr) bool {
	return func(a netip.Addr) bool { return e.Banned(scope, a) }
}

// Metrics registers the metrics that all services have: packets, connections and
// drops for the given reasons.
func (e *Env) Metrics(reasons ...string) *netserve.Metrics {
	return netserve.NewMetrics(e.Registerer, e.Name, reasons...)
}
