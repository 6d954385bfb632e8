package storage

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strings"
	"time"
)

// Limits of a ProductKey.
const (
	MaxProductKeys   = 1_000_000 // MaxProductKeys is how many there may be.
	MaxSealedKey     = 512       // MaxSealedKey is the longest sealed key in bytes.
	productHashLen   = 32        // hex digits
	maxProductNumber = math.MaxInt32
)

// ProductKeyID identifies a ProductKey.
type ProductKeyID struct {
	Product int    `json:"product"` // number of the product, 0 to 2^31-1
	Hash    string `json:"hash"`    // 32 lower-case hex digits
}

// ProductKey is a CD key of a product that operators added or banned.
type ProductKey struct {
	ProductKeyID

	Sealed []byte    `json:"sealed,omitempty"` // the key itself; empty: only its hash is known
	Banned bool      `json:"banned,omitzero"`
	Reason string    `json:"reason,omitzero"` // of the ban
	By     string    `json:"by,omitzero"`     // who added or banned it
	Added  time.Time `json:"added,omitzero"`
}

// Check returns an error that matches ErrInvalid for an id that cannot be stored.
func (id ProductKeyID) Check() error {
	if id.Product < 0 || id.Product > maxProductNumber {
		return invalid("%d is not the number of a product", id.Product)
	}
	if len(id.Hash) != productHashLen || strings.Trim(id.Hash, "0123456789abcdef") != "" {
		return invalid("the hash of a CD key has 32 lower-case hex digits")
	}
	return nil
}

// Compare orders ids by product and hash.
func (id ProductKeyID) Compare(other ProductKeyID) int {
	return cmp.Or(cmp.Compare(id.Product, other.Product), cmp.Compare(id.Hash, other.Hash))
}

// Canonical returns k as it is stored: checked, with its time in UTC. The error
// matches ErrInvalid.
func (k ProductKey) Canonical() (ProductKey, error) {
	switch {
	case len(k.Sealed) > MaxSealedKey:
		return ProductKey{}, invalid("the sealed CD key is longer than %d bytes", MaxSealedKey)
	case len(k.Sealed) == 0 && !k.Banned:
		return ProductKey{}, invalid("a CD key needs its sealed text or a ban")
	}
	k.Added = k.Added.Round(0).UTC()
	return k, cmp.Or(k.Check(), checkText("reason of the ban", k.Reason, MaxBanReason), checkText("author of the CD key", k.By, MaxBanBy))
}

// ProductKeys keeps the CD keys of products.
type ProductKeys interface {
	// PutProductKeys stores all of the keys or none, each in place of the one with the
	// same id. The error is ErrFull if there would be more than MaxProductKeys.
	PutProductKeys(ctx context.Context, keys []ProductKey) error

	// RemoveProductKey removes a key. The error is ErrNotFound if there is none.
	RemoveProductKey(ctx context.Context, id ProductKeyID) error

	// ProductKeys yields all keys in the order of their ids.
	ProductKeys(ctx context.Context) iter.Seq2[ProductKey, error]
}
