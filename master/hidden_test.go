package master

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestHide(t *testing.T) {
	r := NewRegistry(Limits{})
	a, b := at("gmtest", addrPort("10.0.0.1:1"), 1), at("gmtest", addrPort("10.0.0.2:1"), 1)
	mustPut(t, r, a)
	mustPut(t, r, b)
	_, since, _ := r.Changes("", 0, nil)
	if !r.Hide(a.Public) || r.Hide(a.Public) {
		t.Error("Hide: want true once")
	}
	changes, _, _ := r.Changes("gmtest", since, nil)
	if len(changes) != 1 || changes[0].Kind != Removed || changes[0].Key != a.Key {
		t.Errorf("changes: got %+v, want that it was removed", changes)
	}
	visible := func() (n int) {
		if _, ok := r.Find(a.Public); ok {
			n++
		}
		if _, ok := r.FindRecord(a.Public); ok {
			n++
		}
		if _, ok := r.Listed(a.Key); ok {
			n++
		}
		for s := range r.List("gmtest") {
			if s.Key == a.Key {
				n++
			}
		}
		n += r.Counts()["gmtest"] - 1 + len(r.All()) - 1
		return n
	}
	if n := visible(); n != 0 {
		t.Errorf("%d ways to see it", n)
	}
	if !r.IsHidden(a.Public) || r.IsHidden(b.Public) {
		t.Error("IsHidden: want true of the hidden one alone")
	}
	// Its own reports work as before.
	serial := r.Serial("gmtest")
	if !r.Touch(a.Key, fromQR2, time.Now()) || !r.Report(a.Key, Findings{Reached: ReachedDirect}) {
		t.Error("Touch or Report: not listed")
	}
	next := a
	if err := r.Put(next); err != nil || !r.Update(&next) {
		t.Errorf("Put: %v, or Update: not listed", err)
	}
	if s, ok := r.Get(a.Key); !ok || s.Findings.Reached != ReachedDirect {
		t.Errorf("Get: got %v, %v", s, ok)
	}
	if r.Serial("gmtest") != serial {
		t.Error("changes of a hidden server are reported")
	}
	if h := r.Hidden(); len(h) != 1 || h[0].Key != a.Key || r.Len() != 2 {
		t.Errorf("Hidden: got %v, Len %d", h, r.Len())
	}
	if !r.Unhide(a.Public) || r.Unhide(a.Public) {
		t.Error("Unhide: want true once")
	}
	if n := visible(); n != 6 {
		t.Errorf("%d of 6 ways to see it afterwards", n)
	}
}

func TestServerThatComesLaterIsHidden(t *testing.T) {
	r := NewRegistry(Limits{})
	a := at("gmtest", addrPort("10.0.0.1:1"), 1)
	r.Hide(a.Public)
	mustPut(t, r, a)
	if len(r.All()) != 0 || len(r.Counts()) != 0 || len(r.Hidden()) != 1 {
		t.Error("it is shown")
	}
	other := at("gmtest", addrPort("10.0.0.9:1"), 1)
	other.Public = a.Public
	if err := r.Put(other); !errors.Is(err, ErrTaken) {
		t.Errorf("Put of another server under its address: %v, want ErrTaken", err)
	}
	if gone := r.expire(time.Now().Add(time.Hour)); len(gone) != 1 || r.Len() != 0 {
		t.Error("silence does not take it off")
	}
	mustPut(t, r, a)
	if !r.Remove(a.Key) || len(r.Hidden()) != 0 {
		t.Error("Remove does not take it off")
	}
}

func TestGameWithoutServersIsForgotten(t *testing.T) {
	r := NewRegistry(Limits{})
	a := at("invented", addrPort("10.0.0.1:1"), 1)
	mustPut(t, r, a)
	before := r.Serial("invented")
	r.Remove(a.Key)
	if len(r.games) != 0 {
		t.Errorf("games remembered: %v", r.games)
	}
	after := r.Serial("invented")
	list, serial := r.Snapshot("invented", nil)
	if after <= before || serial != after || len(list) != 0 {
		t.Errorf("serial %d after %d, that of the snapshot %d; want a larger one, the same", after, before, serial)
	}
	mustPut(t, r, a)
	if r.Serial("invented") <= after {
		t.Error("the serial of a game that came back is not larger")
	}
	changes, _, _ := r.Changes("invented", 0, nil)
	kinds := make([]ChangeKind, 0, len(changes))
	for _, c := range changes {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, []ChangeKind{Added, Removed, Added}) {
		t.Errorf("changes: %v", kinds)
	}
}
