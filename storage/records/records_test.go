package records

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// openIn returns a store in an engine.
func openIn(t testing.TB, eng engine.Engine, opt Options) *Store {
	t.Helper()
	s := New(eng, opt)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// openNew returns an empty store.
func openNew(t testing.TB) *Store {
	t.Helper()
	return openIn(t, &memory.Engine{}, Options{})
}

// reopening is a store whose records outlive it.
type reopening struct {
	*Store
	eng engine.Engine
}

// staying is an engine that a store does not close.
type staying struct{ engine.Engine }

func (staying) Close() error { return nil }

func (r reopening) Reopen(t *testing.T) storage.Store {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return reopening{openIn(t, staying{r.eng}, Options{}), r.eng}
}

func TestStore(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		t.Helper()
		return openNew(t)
	})
}

func TestStoreAgain(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		t.Helper()
		if !strings.Contains(t.Name(), "opening_again") {
			t.Skip("runs in TestStore")
		}
		eng := &memory.Engine{}
		return reopening{openIn(t, staying{eng}, Options{}), eng}
	})
}

// The engine runs each step twice and takes back what it gave.
func TestStoreInStrictEngine(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store {
		t.Helper()
		return openIn(t, &strict{t: t}, Options{Shared: true, Node: "one"})
	})
}

// damage replaces the value of a key.
func damage(t *testing.T, s *Store, table engine.Table, key, value []byte) {
	t.Helper()
	err := s.eng.Update(t.Context(), func(tx engine.Tx) error { return tx.Put(table, key, value) })
	if err != nil {
		t.Fatal(err)
	}
}

// size counts the keys of a table.
func size(t *testing.T, s *Store, table engine.Table) int {
	t.Helper()
	n, err := look(t.Context(), s, func(v *view) int { return v.count(table, nil, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// newAccount returns a user with one profile.
func newAccount(t testing.TB, s *Store, name string) (storage.User, storage.Profile) {
	t.Helper()
	u, p, err := s.CreateUser(t.Context(), storage.User{Email: name + "@example.com"}, storage.Profile{Nick: name})
	if err != nil {
		t.Fatal(err)
	}
	return u, p
}
