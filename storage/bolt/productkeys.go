package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// productKeyKey is the key of a product key: the number of the product (4 bytes) and
// the hash.
func productKeyKey(id storage.ProductKeyID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Hash...)
}

// PutProductKeys is described in [storage.ProductKeys].
func (s *Store) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	canonical := make([]storage.ProductKey, 0, len(keys))
	for _, k := range keys {
		k, err := k.Canonical()
		if err != nil {
			return err
		}
		canonical = append(canonical, k)
	}
	return s.update(ctx, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketProductKeys))
		room := -1 // unknown
		for i := range canonical {
			key := productKeyKey(canonical[i].ProductKeyID)
			if b.Get(key) == nil {
				if room < 0 {
					room = storage.MaxProductKeys - b.Stats().KeyN
				}
				if room == 0 {
					return fmt.Errorf("%w: there are %d already", storage.ErrFull, storage.MaxProductKeys)
				}
				room--
			}
			if err := put(tx, bucketProductKeys, key, canonical[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveProductKey is described in [storage.ProductKeys].
func (s *Store) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.removeKey(ctx, bucketProductKeys, productKeyKey(id))
}

// ProductKeys is described in [storage.ProductKeys].
func (s *Store) ProductKeys(ctx context.Context) iter.Seq2[storage.ProductKey, error] {
	return iterate(ctx, s, bucketProductKeys, []byte{}, readRecord[storage.ProductKey])
}
