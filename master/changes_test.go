package master

import (
	"testing"
)

func TestChangesInOrderWithoutGaps(t *testing.T) {
	r := NewRegistry(Limits{})
	one, two := at("one", source(1), 1), at("two", source(2), 1)
	one.Origin = fromZandronum
	mustPut(t, r, one)
	mustPut(t, r, two)
	mustPut(t, r, one)
	r.Report(two.Key, Findings{Reached: ReachedDirect})
	r.Remove(one.Key)

	all, now, ok := r.Changes("", 0, nil)
	want := []ChangeKind{Added, Added, Changed, Changed, Removed}
	if !ok || now != 5 || len(all) != len(want) {
		t.Fatalf("Changes: got %d up to %d %v, want 5 up to 5", len(all), now, ok)
	}
	for i, c := range all {
		if c.Serial != uint64(i+1) || c.Kind != want[i] {
			t.Errorf("change %d: got serial %d %v, want %d %v", i, c.Serial, c.Kind, i+1, want[i])
		}
	}
	if last := all[4]; last.Game != "one" || last.Key != one.Key || last.Public != one.Public || last.Origin != one.Origin {
		t.Errorf("last change: got %+v, want the removal of %v", last, one.Key)
	}
	ofTwo, now, ok := r.Changes("two", 2, all[:0])
	if !ok || now != 5 || len(ofTwo) != 1 || ofTwo[0].Serial != 4 {
		t.Errorf("Changes of two since 2: got %+v up to %d %v, want the one with serial 4", ofTwo, now, ok)
	}
}

func TestReaderAwayTooLong(t *testing.T) {
	const held = 8
	r := NewRegistry(Limits{Changes: held})
	for i := range 3 * held {
		mustPut(t, r, at("gmtest", source(i), 1))
	}
	newest := uint64(3 * held)
	for name, tt := range map[string]struct {
		since uint64
		want  int
		ok    bool
	}{
		"up to date":         {newest, 0, true},
		"one behind":         {newest - 1, 1, true},
		"oldest entry":       {newest - held, held, true},
		"one too far":        {newest - held - 1, 0, false},
		"from the beginning": {0, 0, false},
		"from the future":    {newest + 1, 0, false},
	} {
		before := []Change{{Serial: 99}}
		got, now, ok := r.Changes("", tt.since, before)
		if ok != tt.ok || now != newest || len(got) != 1+tt.want || got[0].Serial != 99 {
			t.Errorf("%s: got %d changes up to %d %v, want %d up to %d %v", name, len(got)-1, now, ok, tt.want, newest, tt.ok)
		}
		for i, c := range got[1:] {
			if c.Serial != tt.since+uint64(i)+1 {
				t.Errorf("%s: change %d has serial %d", name, i, c.Serial)
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestChangedIsClosedByTheNextChange(t *testing.T) {
	r := NewRegistry(Limits{})
	a, b := r.Changed(0), r.Changed(0)
	if closed(a) || closed(b) {
		t.Fatal("Changed(0) on a fresh list is closed")
	}
	s := at("gmtest", source(1), 1)
	mustPut(t, r, s)
	if !closed(a) || !closed(b) {
		t.Error("a waiting reader was not told")
	}
	if !closed(r.Changed(0)) {
		t.Error("Changed of an old serial is not closed")
	}
	next := r.Changed(1)
	r.Touch(s.Key, fromQR2, start)
	r.Report(s.Key, Findings{})
	if closed(next) {
		t.Error("a sign of life counts as a change")
	}
	r.Remove(s.Key)
	if !closed(next) {
		t.Error("a removal was not told")
	}
}
