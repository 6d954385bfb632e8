package records

import (
	"context"
	"encoding/binary"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// productKeys are the CD keys of products.
var productKeys = kind[storage.ProductKey]{
	table: tableProductKeys,
	key:   func(k *storage.ProductKey) []byte { return productKeyKey(k.ProductKeyID) },
	canon: storage.ProductKey.Canonical,
	most:  storage.MaxProductKeys,
}

// productKeyKey is the key of a product key: the number of the product (4 bytes) and
// the hash.
func productKeyKey(id storage.ProductKeyID) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(id.Product)), id.Hash...)
}

// PutProductKeys is described in [storage.ProductKeys].
func (s *Store) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	return productKeys.put(ctx, s, keys...)
}

// RemoveProductKey is described in [storage.ProductKeys].
func (s *Store) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return productKeys.remove(ctx, s, productKeyKey(id))
}

// ProductKeys is described in [storage.ProductKeys].
func (s *Store) ProductKeys(ctx context.Context) iter.Seq2[storage.ProductKey, error] {
	return productKeys.all(ctx, s)
}
