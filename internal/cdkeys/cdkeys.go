// Package cdkeys holds the CD keys of products that operators added or banned.
// The service that checks keys uses it for every player.
//
// It does not store keys (package storage does), does not seal them and knows
// no protocol.
package cdkeys

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// MaxKey is the longest CD key in bytes.
const MaxKey = 128

// batch is the number of keys stored in one step.
const batch = 1000

// Sealer seals keys for the store, see internal/accounts/seal.
type Sealer interface {
	SealFor(purpose string, secret, bound []byte) ([]byte, error)
	OpenFor(purpose string, sealed, bound []byte) ([]byte, error)
	MAC(message []byte) []byte
}

// purpose is that of the seal of CD keys of products.
const purpose = "respawnd product keys"

// bound returns what a sealed key is bound to.
func bound(id storage.ProductKeyID) []byte {
	return []byte("respawnd product key\x00" + strconv.Itoa(id.Product) + "\x00" + id.Hash)
}

// Table has all keys in memory. All methods may be called from any number of
// goroutines.
type Table struct {
	store storage.ProductKeys

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	changing sync.Mutex

	mu     sync.RWMutex // guards the fields below
	keys   map[storage.ProductKeyID]entry
	sealer Sealer // of Load
}

// entry is a known key.
type entry struct {
	key string // empty: only its hash is known
	storage.ProductKey
}

// New returns a table without keys. Load fills it from store.
func New(store storage.ProductKeys) *Table {
	return &Table{store: store, keys: make(map[storage.ProductKeyID]entry)}
}

// HashOf returns the hash of a key, as clients make it.
func HashOf(key string) string {
	sum := md5.Sum([]byte(key))
	return hex.EncodeToString(sum[:])
}

// IDOf returns the id of a key, given as the key or as its hash: 32 hex digits
// in lower case.
func IDOf(product int, keyOrHash string) storage.ProductKeyID {
	id := storage.ProductKeyID{Product: product, Hash: keyOrHash}
	if id.Check() != nil {
		id.Hash = HashOf(keyOrHash)
	}
	return id
}

// Load loads the keys of the store. The error states how many keys could not be
// opened; the others are in force. Without a Sealer no key is opened, and Key
// finds none.
func (t *Table) Load(ctx context.Context, s Sealer) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	keys := make(map[storage.ProductKeyID]entry)
	closed := 0
	var why error
	for k, err := range t.store.ProductKeys(ctx) {
		if err != nil {
			return fmt.Errorf("load CD keys: %w", err)
		}
		e := entry{ProductKey: k}
		if len(k.Sealed) > 0 && s != nil {
			key, err := s.OpenFor(purpose, k.Sealed, bound(k.ProductKeyID))
			if err != nil {
				closed, why = closed+1, err
			}
			e.key = string(key)
		}
		keys[k.ProductKeyID] = e
	}
	t.mu.Lock()
	t.keys, t.sealer = keys, s
	t.mu.Unlock()
	if closed > 0 {
		return fmt.Errorf("%d of %d CD keys in the store: %w", closed, len(keys), why)
	}
	return nil
}

// Key returns the key of a product with a hash.
func (t *Table) Key(product int, hash string) (key string, known bool) {
	e, ok := t.get(storage.ProductKeyID{Product: product, Hash: hash})
	return e.key, ok && e.key != ""
}

// Banned reports whether a key is banned, by its hash or by its Mark.
func (t *Table) Banned(product int, hash string) bool {
	e, _ := t.get(storage.ProductKeyID{Product: product, Hash: hash})
	if mark := t.Mark(product, hash); mark != "" && !e.Banned {
		e, _ = t.get(storage.ProductKeyID{Product: product, Hash: mark})
	}
	return e.Banned
}

// Mark returns the fingerprint of a key of which the hash is given, for logs: it has the form of a hash
// and can be banned like one, but only nodes with the key file can make it from a key or a hash. It is
// empty until Load was called with a Sealer.
func (t *Table) Mark(product int, hash string) string {
	t.mu.RLock()
	sealer := t.sealer
	t.mu.RUnlock()
	if sealer == nil {
		return ""
	}
	sum := sealer.MAC([]byte("respawnd mark of a product key\x00" + strconv.Itoa(product) + "\x00" + hash))
	return hex.EncodeToString(sum[:md5.Size])
}

func (t *Table) get(id storage.ProductKeyID) (entry, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.keys[id]
	return e, ok
}

// Len returns the number of keys.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.keys)
}

// ErrKey reports a text that cannot be a CD key.
var ErrKey = errors.New("a CD key has 1 to 128 bytes without control characters and backslashes")

// checkKey returns ErrKey for a text that cannot be a key.
func checkKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return ErrKey
	}
	for i := range len(key) {
		if c := key[i]; c < ' ' || c == '\\' || c == 0x7f {
			return ErrKey
		}
	}
	return nil
}

// Add adds keys of a product and returns how many are new. A ban stays. After an error
// the first added of them are in force.
func (t *Table) Add(ctx context.Context, s Sealer, product int, by string, keys []string) (added int, err error) {
	for i, key := range keys {
		if err := checkKey(key); err != nil {
			return 0, fmt.Errorf("key %d: %w", i+1, err)
		}
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	now := time.Now()
	for part := range slices.Chunk(keys, batch) {
		fresh := make(map[storage.ProductKeyID]entry)
		for _, key := range part {
			id := storage.ProductKeyID{Product: product, Hash: HashOf(key)}
			e, _ := t.get(id)
			if len(e.Sealed) > 0 {
				continue
			}
			if !e.Banned {
				e.ProductKey = storage.ProductKey{ProductKeyID: id, By: by, Added: now}
			}
			if e.Sealed, err = s.SealFor(purpose, []byte(key), bound(id)); err != nil {
				return added, err
			}
			e.key = key
			fresh[id] = e
		}
		if err := t.put(ctx, fresh); err != nil {
			return added, err
		}
		added += len(fresh)
	}
	return added, nil
}

// put stores entries and puts them in force. changing is held.
func (t *Table) put(ctx context.Context, entries map[storage.ProductKeyID]entry) error {
	records := make([]storage.ProductKey, 0, len(entries))
	for _, e := range entries {
		records = append(records, e.ProductKey)
	}
	if len(records) == 0 {
		return nil
	}
	if err := t.store.PutProductKeys(ctx, records); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.keys, entries)
	return nil
}

// Remove removes a key with its ban. The error is storage.ErrNotFound if there
// is none.
func (t *Table) Remove(ctx context.Context, id storage.ProductKeyID) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	return t.remove(ctx, id)
}

// remove is Remove. changing is held.
func (t *Table) remove(ctx context.Context, id storage.ProductKeyID) error {
	if err := t.store.RemoveProductKey(ctx, id); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, id)
	return nil
}

// Ban bans a key, known or not.
func (t *Table) Ban(ctx context.Context, id storage.ProductKeyID, by, reason string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	e, known := t.get(id)
	if !known {
		e.ProductKey = storage.ProductKey{ProductKeyID: id, Added: time.Now()}
	}
	e.Banned, e.By, e.Reason = true, by, reason
	return t.put(ctx, map[storage.ProductKeyID]entry{id: e})
}

// Unban lifts the ban of a key. The error is storage.ErrNotFound if it has
// none.
func (t *Table) Unban(ctx context.Context, id storage.ProductKeyID) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	e, _ := t.get(id)
	switch {
	case !e.Banned:
		return storage.ErrNotFound
	case len(e.Sealed) == 0:
		return t.remove(ctx, id)
	}
	e.Banned, e.Reason = false, ""
	return t.put(ctx, map[storage.ProductKeyID]entry{id: e})
}

// List returns up to limit keys after an id in the order of ids. A negative
// product means all.
func (t *Table) List(product int, after storage.ProductKeyID, limit int) []storage.ProductKey {
	t.mu.RLock()
	var list []storage.ProductKey
	for id, e := range t.keys {
		if (product < 0 || id.Product == product) && id.Compare(after) > 0 {
			list = append(list, e.ProductKey)
		}
	}
	t.mu.RUnlock()
	slices.SortFunc(list, func(a, b storage.ProductKey) int { return a.Compare(b.ProductKeyID) })
	list = list[:min(len(list), limit)]
	return slices.Clone(list)
}
