package storagetest

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// productKey returns a key whose hash is of one digit.
func productKey(product int, digit string) storage.ProductKey {
	return storage.ProductKey{
		ProductKeyID: storage.ProductKeyID{Product: product, Hash: strings.Repeat(digit, 32)},
		Sealed:       []byte("sealed " + digit), By: "admin", Added: moment(),
	}
}

func putProductKeys(t *testing.T, s storage.Store, keys ...storage.ProductKey) {
	t.Helper()
	noErr(t, s.PutProductKeys(t.Context(), keys), "PutProductKeys", keys)
}

// productKeyCalls is every method of product keys.
func productKeyCalls(s storage.Store) map[string]func(context.Context) error {
	late := productKey(77, "f")
	return map[string]func(context.Context) error{
		"PutProductKeys":   func(ctx context.Context) error { return s.PutProductKeys(ctx, []storage.ProductKey{late}) },
		"RemoveProductKey": func(ctx context.Context) error { return s.RemoveProductKey(ctx, late.ProductKeyID) },
		"ProductKeys":      func(ctx context.Context) error { return firstError(s.ProductKeys(ctx)) },
	}
}

func productKeyTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"put, replace, remove":                  testProductKeyLife,
		"all of the keys are stored or none":    testProductKeyBatch,
		"records beyond the limits are refused": testProductKeyLimits,
	}
}

func testProductKeyLife(t *testing.T, s storage.Store) {
	first, second, other := productKey(1, "b"), productKey(1, "c"), productKey(461, "a")
	putProductKeys(t, s, other, second, first)
	differ(t, "keys in order", collect(t, s.ProductKeys(t.Context())), []storage.ProductKey{first, second, other})
	second.Sealed, second.Banned, second.Reason = nil, true, "shared"
	putProductKeys(t, s, second)
	differ(t, "keys after replacing", collect(t, s.ProductKeys(t.Context())), []storage.ProductKey{first, second, other})
	wantErr(t, s.RemoveProductKey(t.Context(), first.ProductKeyID), nil, "RemoveProductKey()")
	wantErr(t, s.RemoveProductKey(t.Context(), first.ProductKeyID), storage.ErrNotFound, "RemoveProductKey() again")
	differ(t, "keys after removing", collect(t, s.ProductKeys(t.Context())), []storage.ProductKey{second, other})
}

func testProductKeyBatch(t *testing.T, s storage.Store) {
	good, bad := productKey(1, "a"), productKey(1, "b")
	bad.Hash = "B"
	wantErr(t, s.PutProductKeys(t.Context(), []storage.ProductKey{good, bad}), storage.ErrInvalid, "PutProductKeys() with one that is invalid")
	differ(t, "keys", collect(t, s.ProductKeys(t.Context())), nil)
}

func testProductKeyLimits(t *testing.T, s storage.Store) {
	edge := productKey(math.MaxInt32, "0")
	edge.Sealed, edge.Reason = []byte(strings.Repeat("x", storage.MaxSealedKey)), strings.Repeat("r", storage.MaxBanReason)
	edge.By = strings.Repeat("b", storage.MaxBanBy)
	putProductKeys(t, s, edge)
	for name, change := range map[string]func(*storage.ProductKey){
		"negative product":     func(k *storage.ProductKey) { k.Product = -1 },
		"product too large":    func(k *storage.ProductKey) { k.Product = edge.Product + 1 },
		"short hash":           func(k *storage.ProductKey) { k.Hash = k.Hash[1:] },
		"capitals in hash":     func(k *storage.ProductKey) { k.Hash = strings.Repeat("A", 32) },
		"sealed text too long": func(k *storage.ProductKey) { k.Sealed = append(k.Sealed, 'x') },
		"nothing to store":     func(k *storage.ProductKey) { k.Sealed = nil },
		"reason too long":      func(k *storage.ProductKey) { k.Reason += "r" },
		"author too long":      func(k *storage.ProductKey) { k.By += "b" },
	} {
		k := edge
		k.Sealed = append([]byte(nil), edge.Sealed...)
		change(&k)
		wantErr(t, s.PutProductKeys(t.Context(), []storage.ProductKey{k}), storage.ErrInvalid, "%s: PutProductKeys()", name)
	}
	differ(t, "keys", collect(t, s.ProductKeys(t.Context())), []storage.ProductKey{edge})
}
