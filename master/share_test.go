package master

import (
	"slices"
	"testing"
)

func TestShare(t *testing.T) {
	r := NewRegistry(Limits{})
	mustPut(t, r, at("base", source(1), 1))
	old := mustPut(t, r, at("demo", source(2), 1))
	mustPut(t, r, at("other", source(3), 1))
	groups := [][]string{{"base", "demo", "mac"}}
	r.Share(groups)
	all := []string{source(1).String(), source(2).String()}
	for _, name := range groups[0] {
		if got := publicsOf(r, name); !slices.Equal(got, all) {
			t.Errorf("the list of %s has %v, want %v", name, got, all)
		}
		if got := r.Sharing(name); !slices.Equal(got, groups[0]) {
			t.Errorf("Sharing(%s): got %v, want %v", name, got, groups[0])
		}
	}
	if got := publicsOf(r, "other"); len(got) != 1 || r.Sharing("other") != nil {
		t.Errorf("the list of another game has %v, shared with %v", got, r.Sharing("other"))
	}
	if counts := r.Counts(); counts["base"] != 1 || counts["demo"] != 1 {
		t.Errorf("Counts: got %v, want one server of each name", counts)
	}
	if now, _ := r.Get(old.Key); now == old || now.Game != "demo" || now.Serial == old.Serial {
		t.Errorf("a server whose list changed: got %+v, want another record", now)
	}
	if changes, _, _ := r.Changes("mac", 3, nil); len(changes) != 2 {
		t.Errorf("Changes by sharing: got %+v, want both servers", changes)
	}
	t.Run("again", func(t *testing.T) {
		before := r.LastSerial()
		r.Share([][]string{{"base", "demo", "mac"}})
		if r.LastSerial() != before {
			t.Error("the same groups are a change")
		}
	})
	t.Run("no more", func(t *testing.T) {
		before := r.Serial("base")
		r.Share(nil)
		if got := publicsOf(r, "base"); len(got) != 1 || r.Serial("base") == before {
			t.Errorf("the list has %v, its serial is %d and was %d", got, r.Serial("base"), before)
		}
	})
}

func TestListAllocations(t *testing.T) {
	r := NewRegistry(Limits{})
	for i, name := range []string{"base", "demo", "other"} {
		mustPut(t, r, at(name, source(i), 1))
	}
	r.Share([][]string{{"base", "demo"}})
	buf := make([]*Server, 0, 8)
	for _, name := range []string{"base", "demo", "other"} {
		if n := testing.AllocsPerRun(100, func() {
			buf, _ = r.Snapshot(name, buf[:0])
			_, _, _ = r.Serial(name), r.Varies(name), r.Sharing(name)
		}); n != 0 {
			t.Errorf("reading the list of %s: %v allocations, want none", name, n)
		}
	}
}
