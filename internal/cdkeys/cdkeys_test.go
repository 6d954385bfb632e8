package cdkeys

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// plain seals by turning bytes over; keys with an X do not open.
type plain struct{}

func turn(b []byte) []byte {
	out := bytes.Clone(b)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

func (plain) SealFor(_ string, key, _ []byte) ([]byte, error) { return turn(key), nil }

func (plain) MAC(message []byte) []byte {
	sum := sha256.Sum256(message)
	return sum[:]
}

func (plain) OpenFor(_ string, sealed, _ []byte) ([]byte, error) {
	key := turn(sealed)
	if bytes.Contains(key, []byte("X")) {
		return nil, errors.New("does not open")
	}
	return key, nil
}

func openStore(t *testing.T) storage.Store {
	t.Helper()
	s := storetest.New(t)
	return s
}

// loaded returns a table with the keys of the store.
func loaded(t *testing.T, s storage.Store) *Table {
	t.Helper()
	table := New(s)
	if err := table.Load(t.Context(), plain{}); err != nil {
		t.Fatal(err)
	}
	return table
}

func add(t *testing.T, table *Table, product, want int, keys ...string) {
	t.Helper()
	if n, err := table.Add(t.Context(), plain{}, product, "admin", keys); n != want || err != nil {
		t.Fatalf("Add(%q) = %d, %v, want %d", keys, n, err, want)
	}
}

func TestTable(t *testing.T) {
	store := openStore(t)
	table := loaded(t, store)
	add(t, table, 461, 2, "AAAA", "BBBB")
	add(t, table, 461, 1, "AAAA", "CCCC") // one is known
	add(t, table, 462, 1, "AAAA")
	a := IDOf(461, "AAAA")
	for name, table := range map[string]*Table{"as changed": table, "as stored": loaded(t, store)} {
		if key, ok := table.Key(461, HashOf("AAAA")); key != "AAAA" || !ok {
			t.Errorf("%s: Key() = %q, %v", name, key, ok)
		}
		if _, ok := table.Key(463, HashOf("AAAA")); ok || table.Len() != 4 {
			t.Errorf("%s: key of another product is known: %v; %d keys, want 4", name, ok, table.Len())
		}
	}
	if err := table.Ban(t.Context(), a, "admin", "shared"); err != nil {
		t.Fatal(err)
	}
	add(t, table, 461, 0, "AAAA")
	if again := loaded(t, store); !again.Banned(461, a.Hash) || again.Banned(462, a.Hash) {
		t.Error("the ban is not stored for the product alone")
	}
	if err := table.Unban(t.Context(), a); err != nil || table.Banned(461, a.Hash) {
		t.Errorf("Unban() = %v, banned %v", err, table.Banned(461, a.Hash))
	}
	if key, ok := table.Key(461, a.Hash); key != "AAAA" || !ok {
		t.Errorf("Key() after the ban = %q, %v", key, ok)
	}
	if err := table.Unban(t.Context(), a); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Unban() again = %v, want ErrNotFound", err)
	}
	if err := table.Remove(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, ok := loaded(t, store).Key(461, a.Hash); ok {
		t.Error("a removed key is known")
	}
}

func TestBanOfUnknownKey(t *testing.T) {
	store := openStore(t)
	table := loaded(t, store)
	id := IDOf(1, strings.Repeat("a", 32))
	if id.Hash != strings.Repeat("a", 32) {
		t.Fatalf("IDOf(hash) = %v", id)
	}
	if err := table.Ban(t.Context(), id, "admin", ""); err != nil {
		t.Fatal(err)
	}
	if _, known := table.Key(1, id.Hash); known || !loaded(t, store).Banned(1, id.Hash) {
		t.Errorf("known %v, want a ban of a key that is not known", known)
	}
	if err := table.Unban(t.Context(), id); err != nil || loaded(t, store).Len() != 0 {
		t.Errorf("Unban() = %v, %d keys are left, want none", err, loaded(t, store).Len())
	}
}

func TestKeysThatCannotBe(t *testing.T) {
	table := loaded(t, openStore(t))
	for _, key := range []string{"", "A\\B", "A\nB", strings.Repeat("A", MaxKey+1)} {
		if n, err := table.Add(t.Context(), plain{}, 1, "", []string{"GOOD", key}); n != 0 || !errors.Is(err, ErrKey) {
			t.Errorf("Add(%q) = %d, %v, want ErrKey", key, n, err)
		}
	}
	add(t, table, 1, 1, strings.Repeat("A", MaxKey))
}

func TestKeysThatDoNotOpen(t *testing.T) {
	store := openStore(t)
	add(t, loaded(t, store), 1, 2, "AX", "B")
	table := New(store)
	if err := table.Load(t.Context(), plain{}); err == nil || !strings.Contains(err.Error(), "1 of 2 CD keys") {
		t.Errorf("Load() = %v, want how many do not open", err)
	}
	if _, ok := table.Key(1, HashOf("B")); !ok {
		t.Error("a key that opens is not in force")
	}
}

func TestList(t *testing.T) {
	table := loaded(t, openStore(t))
	add(t, table, 2, 2, "A", "B")
	add(t, table, 1, 1, "C")
	var got []storage.ProductKeyID
	after := storage.ProductKeyID{}
	for {
		page := table.List(-1, after, 2)
		if len(page) == 0 {
			break
		}
		for _, k := range page {
			got = append(got, k.ProductKeyID)
		}
		after = got[len(got)-1]
	}
	if len(got) != 3 || got[0].Product != 1 || got[1].Compare(got[2]) >= 0 {
		t.Errorf("pages of List() = %v", got)
	}
	if n := len(table.List(2, storage.ProductKeyID{}, 10)); n != 2 {
		t.Errorf("List(2) has %d keys, want 2", n)
	}
}

// What a log has of a key is not its hash, and bans the key of that product alone.
func TestMark(t *testing.T) {
	store := storetest.New(t)
	table := loaded(t, store)
	hash := HashOf("AAAA")
	mark := table.Mark(837, hash)
	if len(mark) != len(hash) || mark == hash || mark == table.Mark(634, hash) || New(store).Mark(837, hash) != "" {
		t.Fatalf("Mark() = %q of the key with the hash %s", mark, hash)
	}
	if err := table.Ban(t.Context(), IDOf(837, mark), "admin", "shared"); err != nil {
		t.Fatal(err)
	}
	if again := loaded(t, store); !again.Banned(837, hash) || again.Banned(634, hash) || again.Banned(837, HashOf("BBBB")) {
		t.Error("the ban of a mark is not that of its key")
	}
}
