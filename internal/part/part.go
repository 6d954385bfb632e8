// Package part holds those parts of the daemon that most services use, as nouns: a service
// asks for one by embedding it in its Options, and gets all of it from the daemon.
//
// A field belongs here if several services use it. The parts that few use are fields of
// the Options of those, or nouns of package service. The package has no behaviour of its own
// and makes none of the parts.
package part

import (
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Self is what a service knows of itself, and where it writes. The zero value is one that
// writes no log and counts nothing.
type Self struct {
	Name    string    // of the service, as in its keys
	Version string    // of the program; may be empty
	Master  string    // identity of the daemon, by which others recognize it; may be empty
	DataDir string    // folder of all data that survives a restart
	Started time.Time // when the daemon started

	Log        zerolog.Logger        // its lines name the service
	Metrics    *netserve.Metrics     // counts packets, connections and drops; nil: nothing is counted
	Registerer prometheus.Registerer // for other metrics of the service; nil: they are not registered
}

// Packets returns the options of a socket that readers goroutines read, see
// netserve.PacketOptions.
func (s *Self) Packets(readers int) netserve.PacketOptions {
	return netserve.PacketOptions{Readers: readers, Log: s.Log, Metrics: s.Metrics}
}

// Peers is what the daemon knows of the addresses that a service hears from. Each field
// may be nil. All may be used concurrently, and none blocks.
type Peers struct {
	Banned   netserve.AddrSet // neither served nor listed
	Trusted  netserve.AddrSet // without limits per address
	Own      Sockets          // of this daemon: they are never asked
	Locate   Places           // where addresses are
	Verdicts *verdicts.Log    // of game servers for a service that lists them, else of players
}

// Sockets is a set of addresses with ports. A nil one is empty.
type Sockets func(netip.AddrPort) bool

// Has reports whether an address is in the set.
func (s Sockets) Has(a netip.AddrPort) bool { return s != nil && s(a) }

// Places returns the country (ISO 3166 alpha-2) and region of an address, empty if they are
// not known. A nil one knows none.
type Places func(netip.Addr) (country, region string)

// Of returns the place of an address.
func (p Places) Of(a netip.Addr) (country, region string) {
	if p == nil {
		return "", ""
	}
	return p(a)
}

// Listing is the list of game servers, with what is needed to read it.
type Listing struct {
	Registry  *master.Registry
	Games     *games.Catalog
	Addresses *advertise.Table // which address of a server a client is given; nil: that of the list
}

// Registration is what a service gets of the daemon with which game servers register.
type Registration struct {
	Self
	Peers
	Listing
}

// Catalogue is what the daemon offers to games.
type Catalogue struct {
	// Rooms returns the group rooms of a game that are not in the embedded catalogue; nil: none.
	// It may block.
	Rooms func(game string) []games.Room
	// Room returns a group room and its game. It never blocks.
	Room    func(id uint32) (room games.Room, game string, ok bool)
	Names   *games.Names // host names that lead to this machine
	Domains []string     // under which games look up their services
	// Focus are the names of the games of this community, which stand first; none: all
	// games are equal.
	Focus []string
	// Served returns whether games can use a service. The result does not
	// change.
	Served func(games.Service) games.Served
	Nouns  noun.Set // those that exist here
	// Docs are the pages of the documentation that services are about, and whether one of
	// those is on.
	Docs map[string]bool
}
