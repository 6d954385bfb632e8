package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/storage"
)

// Limits of one call.
const (
	MaxCDKeysListed = 1000 // MaxCDKeysListed is how many CD keys one call lists.
	MaxCDKeysAdded  = 1000 // MaxCDKeysAdded is how many CD keys one call adds.
)

// CDKey is a CD key of a product as operators see it: without the key itself.
type CDKey struct {
	storage.ProductKeyID

	Known  bool      `json:"known"` // added, not only banned
	Banned bool      `json:"banned"`
	Reason string    `json:"reason,omitempty"` // of the ban
	By     string    `json:"by,omitempty"`
	Added  time.Time `json:"added"`
}

// CDKeyQuery selects CD keys.
type CDKeyQuery struct {
	Product int                  // below 0: all products
	After   storage.ProductKeyID // only keys behind it
}

// NewCDKeys are CD keys to be added. At most MaxCDKeysAdded.
type NewCDKeys struct {
	Product int      `json:"product"`
	Keys    []string `json:"keys"`
	By      string   `json:"by,omitempty"`
}

// CDKeyBan is a ban of a CD key, known or not.
type CDKeyBan struct {
	storage.ProductKeyID

	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// CDKeyOperator is the part of Operator about CD keys of products.
type CDKeyOperator interface {
	// CDKeys returns up to MaxCDKeysListed CD keys in the order of their ids.
	CDKeys(ctx context.Context, q CDKeyQuery) ([]CDKey, error)
	// AddCDKeys adds CD keys and returns how many are new. They are valid at once.
	AddCDKeys(ctx context.Context, n NewCDKeys) (int, error)
	// RemoveCDKey removes a CD key with its ban. storage.ErrNotFound: there is none.
	RemoveCDKey(ctx context.Context, id storage.ProductKeyID) error
	// BanCDKey bans a CD key at once, in permissive mode too.
	BanCDKey(ctx context.Context, b CDKeyBan) error
	// UnbanCDKey lifts a ban. storage.ErrNotFound: there is none.
	UnbanCDKey(ctx context.Context, id storage.ProductKeyID) error
}

// CDKeys implements Operator.
func (l *Local) CDKeys(_ context.Context, q CDKeyQuery) ([]CDKey, error) {
	list := []CDKey{} // never null as JSON
	for _, k := range l.Keys.List(q.Product, q.After, MaxCDKeysListed) {
		list = append(list, CDKey{k.ProductKeyID, len(k.Sealed) > 0, k.Banned, k.Reason, k.By, k.Added})
	}
	return list, nil
}

// AddCDKeys implements Operator.
func (l *Local) AddCDKeys(ctx context.Context, n NewCDKeys) (int, error) {
	if len(n.Keys) > MaxCDKeysAdded {
		return 0, fmt.Errorf("%w: more than %d CD keys at once", ErrBadRequest, MaxCDKeysAdded)
	}
	service, err := l.OpenAccounts(ctx)
	if err != nil {
		return 0, err
	}
	ctx = noted(ctx, actCDKeyAdd, productText(n.Product), strconv.Itoa(len(n.Keys))+" keys")
	added, err := l.Keys.Add(ctx, service.Keys, n.Product, n.By, n.Keys)
	if errors.Is(err, cdkeys.ErrKey) {
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return added, err
}

// RemoveCDKey implements Operator.
func (l *Local) RemoveCDKey(ctx context.Context, id storage.ProductKeyID) error {
	return keyError(id, l.Keys.Remove(noted(ctx, actCDKeyRemove, keyText(id), ""), id))
}

// BanCDKey implements Operator.
func (l *Local) BanCDKey(ctx context.Context, b CDKeyBan) error {
	return l.Keys.Ban(noted(ctx, actCDKeyBan, keyText(b.ProductKeyID), b.Reason), b.ProductKeyID, b.By, b.Reason)
}

// UnbanCDKey implements Operator.
func (l *Local) UnbanCDKey(ctx context.Context, id storage.ProductKeyID) error {
	return keyError(id, l.Keys.Unban(noted(ctx, actCDKeyUnban, keyText(id), ""), id))
}

// keyError says which CD key an error is about.
func keyError(id storage.ProductKeyID, err error) error {
	if err != nil {
		return fmt.Errorf("CD key %s: %w", keyText(id), err)
	}
	return nil
}

// productText returns a product as the audit log has it.
func productText(product int) string { return "product " + strconv.Itoa(product) }

// keyText returns a CD key as the audit log has it: by its hash.
func keyText(id storage.ProductKeyID) string { return id.Hash + " of " + productText(id.Product) }

// CDKeyID returns the id of a CD key, or of one of which the hash is given.
func CDKeyID(product int, keyOrHash string) storage.ProductKeyID {
	return cdkeys.IDOf(product, keyOrHash)
}
