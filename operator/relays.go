package operator

import (
	"context"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/noun"
)

// RelayedPair is two players whose packets are passed on here.
type RelayedPair struct {
	Game   string        `json:"game,omitempty"` // empty: not in the catalogue
	Since  time.Time     `json:"since"`
	Last   time.Time     `json:"last,omitzero"` // the last packet; zero: none was passed on
	Client RelayedPlayer `json:"client"`
	Host   RelayedPlayer `json:"host"`
}

// RelayedPlayer is one player of a RelayedPair.
type RelayedPlayer struct {
	Address netip.AddrPort `json:"address"` // without a port until it has come
	Come    bool           `json:"come"`    // it has sent a packet
	Port    uint16         `json:"port"`    // of ours that it sends to
	Packets uint64         `json:"packets"` // of it that were passed on
	Bytes   uint64         `json:"bytes"`
}

// ListRelayed returns the pairs of players that this node relays, the oldest first.
var ListRelayed = New(Operation{
	Name: "relay", Route: "GET /relay", What: "Show the players that are relayed", About: noun.Relays,
}, func(_ context.Context, l *Local, _ None) ([]RelayedPair, error) {
	if l.RelayedPairs == nil {
		return nil, ErrNotRunning
	}
	list := l.RelayedPairs()
	if list == nil {
		list = []RelayedPair{}
	}
	return list, nil
})
