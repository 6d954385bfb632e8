package operator

import "testing"

// Automatic matches of a game are in the list of a game of their own, whose name ends
// with "am".
func TestAutoMatchNames(t *testing.T) {
	catalog, err := ReadGames("")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, g := range catalog.All() {
		am, ok := catalog.Lookup(g.Name + "am")
		if !ok {
			continue
		}
		known++
		if g.Usable() && !am.Usable() {
			t.Errorf("%s has a key and %s has none", g.Name, am.Name)
		}
	}
	if known < 100 {
		t.Errorf("%d games have automatic matches, want more than 100", known)
	}
	for _, name := range []string{"gmtestam", "whamdowfram", "civ4am", "cc3tibwarsam", "ut3pcam"} {
		if g, ok := catalog.Lookup(name); !ok || !g.Usable() {
			t.Errorf("%s is not a game with a key", name)
		}
	}
}
