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
	// Open relays two players from now on, and returns where each of them is to send
	// to. It opens sockets.
	Open(game string, players [2]RelayPlayer) ([2]netip.AddrPort, error)
}

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
}

// ErrNoRelay is returned by NoRelay.
var ErrNoRelay = errors.New("there is no relay")

// NoRelay is the Relay of a daemon without one.
type NoRelay struct{}

// On implements Relay.
func (NoRelay) On(string) bool { return false }

// Open implements Relay.
func (NoRelay) Open(string, [2]RelayPlayer) (at [2]netip.AddrPort, err error) { return at, ErrNoRelay }
