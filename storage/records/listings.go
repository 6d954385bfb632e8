package records

import (
	"context"
	"encoding/binary"
	"iter"
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// addedServers are the servers that operators added to the lists.
var addedServers = kind[storage.AddedServer]{
	table: tableAddedServers,
	key:   func(a *storage.AddedServer) []byte { return []byte(a.Address) },
	canon: storage.AddedServer.Canonical,
	most:  storage.MaxAddedServers,
}

// hiddenServers are the servers that operators hid.
var hiddenServers = kind[storage.HiddenServer]{
	table: tableHiddenServers,
	key:   func(h *storage.HiddenServer) []byte { return addressKey(h.Address) },
	canon: storage.HiddenServer.Canonical,
	most:  storage.MaxHiddenServers,
}

// addressKey is the key of an address: its bytes, and the port in two more.
func addressKey(a netip.AddrPort) []byte {
	return binary.BigEndian.AppendUint16(a.Addr().Unmap().AsSlice(), a.Port())
}

// AddServer is described in [storage.Listings].
func (s *Store) AddServer(ctx context.Context, a storage.AddedServer) error {
	return addedServers.put(ctx, s, a)
}

// RemoveAddedServer is described in [storage.Listings].
func (s *Store) RemoveAddedServer(ctx context.Context, address string) error {
	return addedServers.remove(ctx, s, []byte(address))
}

// AddedServers is described in [storage.Listings].
func (s *Store) AddedServers(ctx context.Context) iter.Seq2[storage.AddedServer, error] {
	return addedServers.all(ctx, s)
}

// HideServer is described in [storage.Listings].
func (s *Store) HideServer(ctx context.Context, h storage.HiddenServer) error {
	return hiddenServers.put(ctx, s, h)
}

// UnhideServer is described in [storage.Listings].
func (s *Store) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return hiddenServers.remove(ctx, s, addressKey(address))
}

// HiddenServers is described in [storage.Listings].
func (s *Store) HiddenServers(ctx context.Context) iter.Seq2[storage.HiddenServer, error] {
	return hiddenServers.all(ctx, s)
}
