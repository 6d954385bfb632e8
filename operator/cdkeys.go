package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/cdkeys"
	"github.com/respawnd/respawnd/internal/noun"
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
	Product int `query:"product" flag:"product" default:"-1" doc:"only of the product with this number"` // below 0: all products
	// Only keys behind this one.
	AfterProduct int    `query:"after_product"`
	AfterHash    string `query:"after_hash"`
}

// NewCDKeys are CD keys to be added. At most MaxCDKeysAdded.
type NewCDKeys struct {
	Product int      `json:"product" flag:"product" default:"-1" needed:"true" doc:"number of the product, as its game servers send it"`
	Keys    []string `json:"keys" arg:"KEY..." secret:"true"`
	By      string   `json:"by,omitempty" default:"cli"`
}

// CDKeyBan is a ban of a CD key, known or not.
type CDKeyBan struct {
	Product int    `json:"product" flag:"product" default:"-1" needed:"true" doc:"number of the product, as its game servers send it"`
	Hash    string `json:"hash" lookup:"KEY|HASH"`
	Reason  string `json:"reason,omitempty" flag:"reason" doc:"reason, shown in the list"`
	By      string `json:"by,omitempty" default:"cli"`
}

// ListCDKeys returns up to MaxCDKeysListed CD keys in the order of their ids.
var ListCDKeys = New(Operation{
	Name: "cdkey list", Route: "GET /cdkeys", What: "Show all CD keys by their hash", About: noun.Keys, AtMost: MaxCDKeysListed,
}, func(_ context.Context, l *Local, q CDKeyQuery) ([]CDKey, error) {
	list := []CDKey{} // never null as JSON
	for _, k := range l.Keys.List(q.Product, storage.ProductKeyID{Product: q.AfterProduct, Hash: q.AfterHash}, MaxCDKeysListed) {
		list = append(list, CDKey{k.ProductKeyID, len(k.Sealed) > 0, k.Banned, k.Reason, k.By, k.Added})
	}
	return list, nil
})

// Added is how many records are new.
type Added struct {
	Added int `json:"added"`
}

// AddCDKeys adds CD keys and returns how many are new. They are valid at once.
var AddCDKeys = New(Operation{
	Name: "cdkey add", Route: "POST /cdkeys", What: "Add CD keys; they are valid at once", About: noun.Keys, AtMost: MaxCDKeysAdded,
}, func(ctx context.Context, l *Local, n NewCDKeys) (Added, error) {
	if len(n.Keys) > MaxCDKeysAdded {
		return Added{}, fmt.Errorf("%w: more than %d CD keys at once", ErrBadRequest, MaxCDKeysAdded)
	}
	service, err := l.OpenAccounts(ctx)
	if err != nil {
		return Added{}, err
	}
	ctx = about(ctx, productText(n.Product), strconv.Itoa(len(n.Keys))+" keys")
	added, err := l.Keys.Add(ctx, service.Keys, n.Product, n.By, n.Keys)
	if errors.Is(err, cdkeys.ErrKey) {
		err = fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return Added{added}, err
})

// CDKeyRef names a CD key: a storage.ProductKeyID.
type CDKeyRef struct {
	Product int    `query:"product,required" flag:"product" needed:"true" doc:"number of the product, as its game servers send it"`
	Hash    string `query:"hash" lookup:"KEY|HASH"`
}

// RemoveCDKey removes a CD key with its ban. storage.ErrNotFound: there is none.
var RemoveCDKey = New(Operation{
	Name: "cdkey remove", Route: "DELETE /cdkeys", What: "Remove a CD key with its ban", About: noun.Keys,
}, func(ctx context.Context, l *Local, in CDKeyRef) (Removed, error) {
	id := storage.ProductKeyID(in)
	return Removed{1}, keyError(id, l.Keys.Remove(about(ctx, keyText(id), ""), id))
})

// BanCDKey bans a CD key at once, in permissive mode too.
var BanCDKey = New(Operation{
	Name: "cdkey ban", Route: "PUT /cdkeys/bans", What: "Ban a CD key; takes effect at once, in permissive mode too", About: noun.Keys,
}, func(ctx context.Context, l *Local, b CDKeyBan) (Done, error) {
	id := storage.ProductKeyID{Product: b.Product, Hash: b.Hash}
	return Done{1}, l.Keys.Ban(about(ctx, keyText(id), b.Reason), id, b.By, b.Reason)
})

// UnbanCDKey lifts a ban. storage.ErrNotFound: there is none.
var UnbanCDKey = New(Operation{
	Name: "cdkey unban", Route: "DELETE /cdkeys/bans", What: "Lift the ban of a CD key", About: noun.Keys,
}, func(ctx context.Context, l *Local, in CDKeyRef) (Removed, error) {
	id := storage.ProductKeyID(in)
	return Removed{1}, keyError(id, l.Keys.Unban(about(ctx, keyText(id), ""), id))
})

// keyError says which CD key an error is about.
func keyError(id storage.ProductKeyID, err error) error {
	return subject(err, "CD key %s", keyText(id))
}

// productText returns a product as the audit log has it.
func productText(product int) string { return "product " + strconv.Itoa(product) }

// keyText returns a CD key as the audit log has it: by its hash.
func keyText(id storage.ProductKeyID) string { return id.Hash + " of " + productText(id.Product) }

// CDKeyID returns the id of a CD key, or of one of which the hash is given.
func CDKeyID(product int, keyOrHash string) storage.ProductKeyID {
	return cdkeys.IDOf(product, keyOrHash)
}
