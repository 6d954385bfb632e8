package master

import (
	"testing"
	"time"
)

func TestHiddenServerIsInNothingThatShowsTheList(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", source(1), 7)
	for name, order := range map[string]func(){
		"listed, then hidden": func() { mustPut(t, r, s); r.Hide(s.Public) },
		"hidden, then listed": func() { r.Hide(s.Public); mustPut(t, r, s) },
	} {
		t.Run(name, func(t *testing.T) {
			order()
			if _, ok := r.Find(s.Public); ok {
				t.Error("Find shows it")
			}
			if _, ok := r.FindHeard(s.Public); ok {
				t.Error("FindHeard shows it")
			}
			if _, ok := r.Listed(s.Key); ok {
				t.Error("Listed shows it")
			}
			if snap, _ := r.Snapshot(s.Game, nil); len(snap) != 0 {
				t.Errorf("Snapshot has %d servers, want 0", len(snap))
			}
			for range r.List(s.Game) {
				t.Error("List yields it")
			}
			if all := r.All(); len(all) != 0 {
				t.Errorf("All has %d servers, want 0", len(all))
			}
			if n := r.Counts()[s.Game]; n != 0 {
				t.Errorf("Counts: %d servers, want 0", n)
			}
			if list := r.Hidden(); len(list) != 1 || list[0].Key != s.Key {
				t.Errorf("Hidden: got %v, want the server", list)
			}
			if _, ok := r.Get(s.Key); !ok || !r.Touch(s.Key, time.Now()) {
				t.Error("its own reports are refused")
			}
			if !r.Unhide(s.Public) {
				t.Fatal("Unhide: it was not hidden")
			}
			if got, ok := r.FindHeard(s.Public); !ok || got.Key != s.Key {
				t.Error("FindHeard does not show it after Unhide")
			}
			if snap, _ := r.Snapshot(s.Game, nil); len(snap) != 1 {
				t.Errorf("Snapshot after Unhide has %d servers, want 1", len(snap))
			}
			r.Remove(s.Key)
		})
	}
}

func TestHidingTwiceIsTold(t *testing.T) {
	r := NewRegistry(Limits{})
	public := source(1)
	if !r.Hide(public) || r.Hide(public) {
		t.Error("Hide reports whether the address was hidden already")
	}
	if !r.Unhide(public) || r.Unhide(public) {
		t.Error("Unhide reports whether the address was hidden")
	}
}

func TestChangesTellOfHidingAsOfLeaving(t *testing.T) {
	r := NewRegistry(Limits{})
	s := at("gmtest", source(1), 7)
	mustPut(t, r, s)
	_, since, _ := r.Changes("", 0, nil)
	r.Hide(s.Public)
	r.Unhide(s.Public)
	list, _, ok := r.Changes("", since, nil)
	if !ok || len(list) != 2 || list[0].Kind != Removed || list[1].Kind != Added {
		t.Errorf("Changes: got %v, %v, want removed and added", list, ok)
	}
}
