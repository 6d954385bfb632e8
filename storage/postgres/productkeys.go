package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// PutProductKeys is described in [storage.ProductKeys].
func (s *Store) PutProductKeys(ctx context.Context, keys []storage.ProductKey) error {
	// A statement stores a row once: the last key with an id counts.
	at := make(map[storage.ProductKeyID]int, len(keys))
	var products []int64
	var hashes, docs [][]byte
	for _, k := range keys {
		k, err := k.Canonical()
		if err != nil {
			return err
		}
		doc, err := json.Marshal(k)
		if err != nil {
			return err
		}
		if i, twice := at[k.ProductKeyID]; twice {
			docs[i] = doc
			continue
		}
		hash, err := hex.DecodeString(k.Hash)
		if err != nil {
			return err
		}
		at[k.ProductKeyID] = len(docs)
		products, hashes, docs = append(products, int64(k.Product)), append(hashes, hash), append(docs, doc)
	}
	return s.putSmall(ctx, "product_keys", storage.MaxProductKeys, func(b *pgx.Batch, inserted func(pgx.Rows) error) {
		b.Queue(`INSERT INTO product_keys (product, hash, doc)
			SELECT product, hash, convert_from(doc, 'UTF8')::jsonb FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS x (product, hash, doc)
			ON CONFLICT (product, hash) DO UPDATE SET doc = excluded.doc RETURNING xmax = 0`, products, hashes, docs).Query(inserted)
	})
}

// RemoveProductKey is described in [storage.ProductKeys].
func (s *Store) RemoveProductKey(ctx context.Context, id storage.ProductKeyID) error {
	if err := id.Check(); err != nil {
		return err
	}
	hash, err := hex.DecodeString(id.Hash)
	if err != nil {
		return err
	}
	return s.removeSmall(ctx, "product_keys", `product = $1 AND hash = $2`, int64(id.Product), hash)
}

// ProductKeys is described in [storage.ProductKeys].
func (s *Store) ProductKeys(ctx context.Context) iter.Seq2[storage.ProductKey, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.ProductKey) ([]item[storage.ProductKey], error) {
		product, hash := int64(-1), []byte{}
		if last != nil {
			product = int64(last.Product)
			hash, _ = hex.DecodeString(last.Hash) // it came from a row
		}
		rows, err := q.Query(ctx, `SELECT product, hash, doc FROM product_keys WHERE (product, hash) > ($1, $2)
			ORDER BY product, hash LIMIT $3`, product, hash, pageRecords)
		return collect(rows, err, func(row pgx.Row, k *storage.ProductKey) error {
			var id storage.ProductKeyID
			var hash, doc []byte
			if err := row.Scan(&id.Product, &hash, &doc); err != nil {
				return err
			}
			id.Hash = hex.EncodeToString(hash)
			err := decode(doc, k, "CD key", id)
			k.ProductKeyID = id
			return err
		})
	})
}
