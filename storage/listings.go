package storage

import (
	"cmp"
	"context"
	"iter"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Limits of the operator's settings for single game servers.
const (
	MaxAddedServers  = 1024 // MaxAddedServers is the maximum number of added servers.
	MaxHiddenServers = 1024 // MaxHiddenServers is the maximum number of hidden servers.

	MaxServerAddress = 300  // MaxServerAddress is the longest host:port in bytes.
	MaxHiddenReason  = 1024 // MaxHiddenReason is the longest reason in bytes.
	MaxListingBy     = 128  // MaxListingBy is the longest author in bytes.
)

// AddedServer is a game server that an operator added to those that are queried
// and listed. Address is its key.
type AddedServer struct {
	Address  string    `json:"address"`  // host:port; the host may be a name
	Protocol string    `json:"protocol"` // in which it is queried
	Game     string    `json:"game,omitzero"`
	By       string    `json:"by,omitzero"`
	Added    time.Time `json:"added,omitzero"`
}

// Canonical returns s as it is stored: checked, with its time in UTC. The error matches
// ErrInvalid.
func (s AddedServer) Canonical() (AddedServer, error) {
	s.Added = s.Added.Round(0).UTC()
	return s, cmp.Or(
		checkHostPort(s.Address), checkName("protocol of the server", s.Protocol, MaxServerWord),
		checkText("game of the server", s.Game, MaxServerWord), checkText("author", s.By, MaxListingBy),
	)
}

// HiddenServer is the public address of a game server that an operator hides
// from the list. Address is its key.
type HiddenServer struct {
	Address netip.AddrPort `json:"address"`
	Reason  string         `json:"reason,omitzero"`
	By      string         `json:"by,omitzero"`
	Added   time.Time      `json:"added,omitzero"`
}

// Canonical returns s as it is stored: checked, an IPv4-mapped address as IPv4, with its
// time in UTC. The error matches ErrInvalid.
func (s HiddenServer) Canonical() (HiddenServer, error) {
	if !s.Address.IsValid() || s.Address.Port() == 0 {
		return HiddenServer{}, invalid("hidden server has no address")
	}
	s.Address = netip.AddrPortFrom(s.Address.Addr().Unmap(), s.Address.Port())
	s.Added = s.Added.Round(0).UTC()
	return s, cmp.Or(checkText("reason", s.Reason, MaxHiddenReason), checkText("author", s.By, MaxListingBy))
}

// checkHostPort returns an error for a text that is not a host:port.
func checkHostPort(address string) error {
	if err := checkName("address of the server", address, MaxServerAddress); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return invalid("address of the server %.40q is not host:port", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return invalid("port of the server %.40q is not a number from 1 to 65535", address)
	}
	return nil
}

// Listings keeps the operator's settings for single game servers.
type Listings interface {
	// AddServer stores s, replacing one with the same address. The error is
	// ErrFull if there are MaxAddedServers already.
	AddServer(ctx context.Context, s AddedServer) error

	// RemoveAddedServer removes an added server, or returns ErrNotFound.
	RemoveAddedServer(ctx context.Context, address string) error

	// AddedServers yields the added servers, ordered by address as text.
	AddedServers(ctx context.Context) iter.Seq2[AddedServer, error]

	// HideServer stores s, replacing one with the same address. The error is
	// ErrFull if there are MaxHiddenServers already.
	HideServer(ctx context.Context, s HiddenServer) error

	// UnhideServer removes a hidden server, or returns ErrNotFound.
	UnhideServer(ctx context.Context, address netip.AddrPort) error

	// HiddenServers yields the hidden servers, in no particular order.
	HiddenServers(ctx context.Context) iter.Seq2[HiddenServer, error]
}
