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

	"github.com/respawnd/respawnd/internal/query"
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
	// Callbacks is set by a service that lists game servers.
	Callbacks *Callbacks
	// Files is set by a service that shows servers: it calls put with what clients outside are
	// answered now, as files of a snapshot of the list. The content must not be changed.
	Files func(put func(name string, content []byte))
}

// Callbacks holds the functions of a service for the game servers that it lists.
// All but Origin are optional. The functions may be called concurrently.
type Callbacks struct {
	Origin *master.Origin // of its servers

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
	Watch(a netip.AddrPort, protocol string, o *master.Origin) error
	// Answers reports whether a server answered the last query.
	Answers(netip.AddrPort) bool
	// Unwatch ends Watch.
	Unwatch(netip.AddrPort, *master.Origin)
	// Consider queries a server that another master listed, as Watch does under origin
	// Federated. Unlike there the caller names the game, if it knows it.
	Consider(Candidate) error
	// Watches reports whether an origin watches a server: one that is silent for long
	// is forgotten.
	Watches(netip.AddrPort, *master.Origin) bool
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
