package service

import (
	"errors"
	"net/netip"
)

// Relay passes packets between players whose routers prevent a direct connection.
// Its methods may be called concurrently.
type Relay interface {
	// On reports whether players of a game may be relayed; game is its name in the
	// catalogue, empty for others. It never blocks.
	On(game string) bool
	// First returns when players are relayed at their first meeting. It never blocks.
	First() First
	// Open relays two players from now on, and returns where each of them is to send
	// to. It opens sockets.
	Open(game string, players [2]RelayPlayer) ([2]netip.AddrPort, error)
}

// First is when players are relayed who have not tried to connect before.
type First string

// The values of First. Players whose routers show that they cannot connect are always relayed.
const (
	FirstNever   First = "never"
	FirstUnknown First = "unknown" // where it is not known whether they can connect
	FirstAlways  First = "always"
)

// RelayPlayer is one of two relayed players.
type RelayPlayer struct {
	// Seen are the addresses from which it negotiated, at least one. Its packets come
	// from one of them.
	Seen []netip.Addr
	// Reached is the address of this machine that it sent to; zero: not known, or it
	// sent to another node.
	Reached netip.Addr
	// Proved reports that it returned a secret that was sent to its address: it is not forged.
	Proved bool
	// At is where its packets came from so far. A datagram Knock is sent there from the port of
	// the relay before the player knows the port, as a partner would send one too early.
	At    netip.AddrPort
	Knock []byte // empty: none is sent
	// Came is called with where its first packet came from; nil: it is not. It must not block.
	Came func(netip.AddrPort)
}

// ErrNoRelay is returned by NoRelay.
var ErrNoRelay = errors.New("there is no relay")

// NoRelay is the Relay of a daemon without one.
type NoRelay struct{}

// On implements Relay.
func (NoRelay) On(string) bool { return false }

// First implements Relay.
func (NoRelay) First() First { return FirstNever }

// Open implements Relay.
func (NoRelay) Open(string, [2]RelayPlayer) (at [2]netip.AddrPort, err error) { return at, ErrNoRelay }
