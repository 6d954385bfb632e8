package records

import (
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// A daemon sees at once what another that shares the database did.
func TestSharedRelations(t *testing.T) {
	eng := &memory.Engine{}
	one, other := openIn(t, eng, Options{Shared: true}), openIn(t, eng, Options{Shared: true})
	_, a := newAccount(t, one, "a")
	_, b := newAccount(t, one, "b")
	check := func(want bool) {
		t.Helper()
		for name, s := range map[string]*Store{"its own": one, "another": other} {
			if r, err := s.Relation(t.Context(), a.ID, b.ID); err != nil || r != (storage.Relation{Blocks: want}) {
				t.Errorf("Relation() of %s daemon = %+v, %v, want a block: %v", name, r, err, want)
			}
		}
	}
	check(false)
	if err := one.AddBlock(t.Context(), a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	check(true)
	if err := one.RemoveBlock(t.Context(), a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	check(false)
}

// A store that nothing else changes reads a relation once.
func TestRelationsAreCached(t *testing.T) {
	eng := &trips{}
	s := openIn(t, eng, Options{})
	_, a := newAccount(t, s, "a")
	_, b := newAccount(t, s, "b")
	for _, want := range []int64{1, 0} {
		before := eng.n.Load()
		if _, err := s.Relation(t.Context(), a.ID, b.ID); err != nil {
			t.Fatal(err)
		}
		if n := eng.n.Load() - before; n != want {
			t.Errorf("Relation() made %d trips, want %d", n, want)
		}
	}
}
