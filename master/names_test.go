package master

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dropUnusedNames interns n lists that nothing refers to afterwards.
//
//go:noinline
func dropUnusedNames(r *Registry, n int) {
	for i := range n {
		r.Names([]string{"unused", fmt.Sprint(i)})
	}
}

// collect sweeps until the table of names holds no more than want lists.
func collect(t *testing.T, r *Registry, want int) {
	t.Helper()
	for range 10 {
		runtime.GC()
		r.names.sweep()
		if len(r.names.table) <= want {
			return
		}
	}
	t.Fatalf("%d lists of names left after collecting, want at most %d", len(r.names.table), want)
}

func TestEqualNamesAreShared(t *testing.T) {
	r := NewRegistry(Limits{})
	list := []string{"hostname", "mapname"}
	a := r.Names(list)
	list[0] = "changed later"
	b := r.Names([]string{"hostname", "mapname"})
	if a != b {
		t.Error("equal lists have different Names")
	}
	if a.Name(0) != "hostname" {
		t.Errorf("Name(0): got %q, want it independent of the caller's slice", a.Name(0))
	}
	if c := r.Names([]string{"mapname", "hostname"}); c == a {
		t.Error("another order has the same Names")
	}
	if n := r.Names(nil); n != nil || n.Len() != 0 || n.Reported() != 0 {
		t.Errorf("no names: got %v, want nil", n)
	}
	if _, ok := (*Names)(nil).Index("hostname"); ok {
		t.Error("Index of no names found one")
	}
	runtime.KeepAlive(a)
}

func TestNamesThatAreDropped(t *testing.T) {
	r := NewRegistry(Limits{})
	n := r.Names([]string{"hostname", "", "statechanged", "HOSTNAME", "Map", "hostname", "map"})
	if got, want := n.Reported(), 7; got != want {
		t.Fatalf("Reported: got %d, want %d", got, want)
	}
	var kept []string
	for i := range n.Len() {
		kept = append(kept, n.Name(i))
	}
	if want := []string{"hostname", "Map"}; !slices.Equal(kept, want) {
		t.Errorf("kept: got %q, want %q", kept, want)
	}
	wantSlots := []int{0, -1, -1, -1, 1, -1, -1}
	for i, want := range wantSlots {
		if name, slot := n.ReportedName(i); slot != want {
			t.Errorf("slot of reported name %d %q: got %d, want %d", i, name, slot, want)
		}
	}
	for _, name := range []string{"map", "Map", "MAP"} {
		if i, ok := n.Index(name); !ok || i != 1 {
			t.Errorf("Index(%q): got %d %v, want 1", name, i, ok)
		}
	}
	for _, name := range []string{"", "statechanged", "nothing"} {
		if i, ok := n.Index(name); ok {
			t.Errorf("Index(%q): got %d, want none", name, i)
		}
	}
}

// Many games write Latin-1, which is not valid UTF-8.
func TestNamesInAnyEncodingStayApart(t *testing.T) {
	r := NewRegistry(Limits{})
	reported := []string{"gr\xf6sse", "gr\xe4sse", "\xff", "\xfe", "K", "\u212a"}
	n := r.Names(reported)
	if n.Len() != len(reported) {
		t.Fatalf("kept %d of %d names", n.Len(), len(reported))
	}
	for i, name := range reported {
		if got, ok := n.Index(name); !ok || got != i {
			t.Errorf("Index(%q): got %d %v, want %d", name, got, ok, i)
		}
	}
}

func TestLongestListOfNames(t *testing.T) {
	r := NewRegistry(Limits{})
	reported := make([]string, MaxNames)
	for i := range reported {
		reported[i] = fmt.Sprint("n", i)
	}
	n := r.Names(reported)
	if i, ok := n.Index(fmt.Sprint("N", MaxNames-1)); !ok || i != MaxNames-1 || n.Len() != MaxNames {
		t.Errorf("Index of the last of %d names: got %d %v", n.Len(), i, ok)
	}
}

func TestFullTableOfNamesOnlyStopsSharing(t *testing.T) {
	r := NewRegistry(Limits{})
	var hold []*Names
	for i := range maxInterned {
		hold = append(hold, r.Names([]string{fmt.Sprint(i)}))
	}
	a, b := r.Names([]string{"late"}), r.Names([]string{"late"})
	if a == b || a.Name(0) != "late" || b.Name(0) != "late" {
		t.Errorf("names that found the table full: %p %p, want two that work", a, b)
	}
	if len(r.names.table) != maxInterned {
		t.Errorf("table: got %d lists, want %d", len(r.names.table), maxInterned)
	}
	// A report with unshared names still counts as equal.
	s := at("gmtest", source(1), 1)
	var rep Report
	rep.Rule([]byte("v"))
	rep.SetRules(a)
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	rep.SetRules(b)
	if !rep.Same(&s) {
		t.Error("the same report under equal names counts as a change")
	}
	runtime.KeepAlive(hold) // up to here; from here on they can be collected
	collect(t, r, 0)
	late := r.Names([]string{"late"})
	if r.Names([]string{"late"}) != late {
		t.Error("after the sweep lists are not shared")
	}
	runtime.KeepAlive(late)
}

func TestCollectedNamesComeBackIntoAFullTable(t *testing.T) {
	r := NewRegistry(Limits{})
	dropUnusedNames(r, maxInterned)
	runtime.GC()
	runtime.GC()
	// The row of the list is still in the table, but the list is gone.
	again := r.Names([]string{"unused", "0"})
	if r.Names([]string{"unused", "0"}) != again {
		t.Error("the list is not shared although it has a place in the table")
	}
	runtime.KeepAlive(again)
}

func TestNamesHoldNoPacket(t *testing.T) {
	r := NewRegistry(Limits{})
	packet := []byte(strings.Repeat("x", 4096) + "name")
	reported := []string{string(packet[4096:])}
	n := r.Names(reported)
	copy(packet[4096:], "gone")
	if n.Name(0) != "name" {
		t.Errorf("Name(0): got %q, want %q", n.Name(0), "name")
	}
}
