package bolt

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// banKey is the key of a ban: 4 or 6, the address, the prefix length and the
// scope. prefix is canonical.
func banKey(prefix netip.Prefix, scope storage.Scope) []byte {
	family := byte(6)
	if prefix.Addr().Is4() {
		family = 4
	}
	key := append([]byte{family}, prefix.Addr().AsSlice()...)
	return append(key, byte(prefix.Bits()), byte(scope))
}

// AddBan is described in [storage.Bans].
func (s *Store) AddBan(ctx context.Context, b storage.Ban) error {
	b, err := b.Canonical()
	if err != nil {
		return err
	}
	return s.update(ctx, func(tx *bbolt.Tx) error {
		return put(tx, bucketBans, banKey(b.Prefix, b.Scope), b)
	})
}

// RemoveBan is described in [storage.Bans].
func (s *Store) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (int, error) {
	prefix, err := storage.CanonicalPrefix(prefix)
	if err != nil {
		return 0, err
	}
	scopes := []storage.Scope{scope}
	if scope == storage.EveryScope {
		scopes = storage.Scopes()
	}
	removed := 0
	err = s.update(ctx, func(tx *bbolt.Tx) error {
		removed = 0
		for _, scope := range scopes {
			found, err := remove(tx, bucketBans, banKey(prefix, scope))
			if err != nil {
				return err
			}
			if found {
				removed++
			}
		}
		if removed == 0 {
			return errIdle
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("remove ban %v: %w", prefix, err)
	}
	return removed, nil
}

// Bans is described in [storage.Bans].
func (s *Store) Bans(ctx context.Context) iter.Seq2[storage.Ban, error] {
	return iterate(ctx, s, bucketBans, []byte{}, readRecord[storage.Ban])
}

// SweepBans is described in [storage.Bans].
func (s *Store) SweepBans(ctx context.Context, now time.Time) (int, error) {
	n, err := removeOver(ctx, s, bucketBans, func(b *storage.Ban) bool { return b.Expired(now) })
	if err != nil {
		return 0, fmt.Errorf("sweep bans: %w", err)
	}
	return n, nil
}

// removeOver removes the expired records of a bucket and returns how many there
// were. Damaged ones are not removed.
func removeOver[R any](ctx context.Context, s *Store, bucket string, over func(*R) bool) (int, error) {
	var keys [][]byte
	err := s.update(ctx, func(tx *bbolt.Tx) error {
		keys = nil
		b := tx.Bucket([]byte(bucket))
		err := b.ForEach(func(k, v []byte) error {
			if record, err := decode[R](v); err == nil && over(&record) {
				keys = append(keys, slices.Clone(k))
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := b.Delete(k); err != nil {
				return err
			}
		}
		if len(keys) == 0 {
			return errIdle
		}
		return nil
	})
	return len(keys), err
}
