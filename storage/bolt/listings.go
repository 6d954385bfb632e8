package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"net/netip"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// AddServer is described in [storage.Listings].
func (s *Store) AddServer(ctx context.Context, a storage.AddedServer) error {
	if err := a.Check(); err != nil {
		return err
	}
	a.Added = a.Added.Round(0).UTC()
	return s.putBounded(ctx, bucketAddedServers, []byte(a.Address), a, storage.MaxAddedServers)
}

// RemoveAddedServer is described in [storage.Listings].
func (s *Store) RemoveAddedServer(ctx context.Context, address string) error {
	return s.removeKey(ctx, bucketAddedServers, []byte(address))
}

// AddedServers is described in [storage.Listings].
func (s *Store) AddedServers(ctx context.Context) iter.Seq2[storage.AddedServer, error] {
	return iterate(ctx, s, bucketAddedServers, []byte{}, readRecord[storage.AddedServer])
}

// HideServer is described in [storage.Listings].
func (s *Store) HideServer(ctx context.Context, h storage.HiddenServer) error {
	if err := h.Check(); err != nil {
		return err
	}
	h.Address = netip.AddrPortFrom(h.Address.Addr().Unmap(), h.Address.Port())
	h.Added = h.Added.Round(0).UTC()
	return s.putBounded(ctx, bucketHiddenServers, addressKey(h.Address), h, storage.MaxHiddenServers)
}

// UnhideServer is described in [storage.Listings].
func (s *Store) UnhideServer(ctx context.Context, address netip.AddrPort) error {
	return s.removeKey(ctx, bucketHiddenServers, addressKey(address))
}

// HiddenServers is described in [storage.Listings].
func (s *Store) HiddenServers(ctx context.Context) iter.Seq2[storage.HiddenServer, error] {
	return iterate(ctx, s, bucketHiddenServers, []byte{}, readRecord[storage.HiddenServer])
}

// addressKey is the key of an address: its bytes, and the port in two more.
func addressKey(a netip.AddrPort) []byte {
	return binary.BigEndian.AppendUint16(a.Addr().Unmap().AsSlice(), a.Port())
}

// putBounded stores a record if it replaces an earlier one or the bucket has
// fewer than most records.
func (s *Store) putBounded(ctx context.Context, bucket string, key []byte, record any, most int) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		if b.Get(key) == nil && b.Stats().KeyN >= most {
			return fmt.Errorf("%w: there are %d already", storage.ErrFull, most)
		}
		return put(tx, bucket, key, record)
	})
}

func (s *Store) removeKey(ctx context.Context, bucket string, key []byte) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		found, err := remove(tx, bucket, key)
		if err == nil && !found {
			return storage.ErrNotFound
		}
		return err
	})
}
