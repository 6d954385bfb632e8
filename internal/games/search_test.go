package games

import (
	"slices"
	"strings"
	"testing"
)

// TestSearch searches the built-in games as players do. Each line of the table has the words, and
// the game that must be found first; behind it those that must stand further down, if found.
func TestSearch(t *testing.T) {
	list := newCatalog(t, embedded(t)...).All()
	for _, row := range rows(t, "searches.tsv") {
		words, want, behind := row[0], row[1], strings.Fields(row[2])
		found := Search(list, words)
		if len(found) == 0 || found[0].Name != want {
			t.Errorf("%s: found %v, want %s first", words, firstNames(found), want)
		}
		for _, b := range behind {
			if i := slices.IndexFunc(found, func(g Game) bool { return g.Name == b }); i == 0 {
				t.Errorf("%s: %s is first", words, b)
			}
		}
	}
}

func firstNames(list []Game) (names []string) {
	for _, g := range list[:min(len(list), 6)] {
		names = append(names, g.Name)
	}
	return names
}

func TestFind(t *testing.T) {
	list := newCatalog(t, embedded(t)...).All()
	for words, want := range map[string]string{
		"swat4": "SWAT 4 (swat4)",
		"SWAT4": "SWAT 4 (swat4)",
		"halo":  "Halo: Combat Evolved (halor); for Halo Beta: =halo; for Halo (Mac): halomac",
		"ut3":   "Unreal Tournament 3 (PC) (ut3pc); for Unreal Tournament 3: =ut3",
		"=halo": "Halo Beta (halo); for Halo: Combat Evolved: halor",
		"halom": "Halo Multiplayer Expansion (halom)",
		"ut99":  "Unreal Tournament (ut)",
		"civ 4": "Civilization IV (civ4)",

		"call of pripyat": "STALKER: Call of Pripyat (PC) (stalkercoppc)",
		"stalker cop":     "STALKER: Call of Pripyat (PC) (stalkercoppc)",
		"halo ce":         "Halo Multiplayer Expansion (halom)",
	} {
		g, ok := Find(list, words)
		if got := g.String(); !ok || got != want || g.Exact != strings.EqualFold(strings.TrimPrefix(words, "="), g.Game.Name) {
			t.Errorf("%s: %s, %v, want %s", words, got, ok, want)
		}
	}
	if g, ok := FindNamed(list, "halo"); !ok || g.String() != "Halo Beta (halo); for Halo: Combat Evolved: halor" {
		t.Errorf("of an operator: %s", g)
	}
	for words, want := range map[string]string{"swat44": "swat4", "owngam": "", "star wars": "sw", "": "", "?": ""} {
		g, ok := Find(list, words)
		if first := append(firstNames(g.Others), "")[0]; ok || !strings.HasPrefix(first, want) || want == "" && first != "" || len(g.Others) > maxOthers {
			t.Errorf("%s: %v, found %v, want %s", words, firstNames(g.Others), ok, want)
		}
	}
}

// The name of a demo or another version is not that of its game, if the game has that title.
func TestFind_otherVersions(t *testing.T) {
	list := newCatalog(t, embedded(t)...).All()
	f := NewFinder(list)
	for i := range list {
		g := &list[i]
		version := newTarget(g)
		if !version.other || g.described() {
			continue
		}
		found, ok := f.Find(g.Name)
		for j := range list {
			o := newTarget(&list[j])
			named := o.title == version.name || o.whole == version.name || slices.Contains(o.called, version.name)
			if named && !o.other && o.game.See == "" && (!ok || found.Game.Name == g.Name) {
				t.Errorf("%s finds %s, which has the title %q; %s is %q", g.Name, found.Game.Name, g.Title, o.game.Name, o.game.Title)
			}
		}
		if exact, ok := f.Find("=" + g.Name); !ok || !exact.Exact || exact.Game.Name != g.Name {
			t.Errorf("=%s finds %s", g.Name, exact)
		}
	}
}

func TestSearch_order(t *testing.T) {
	list := []Game{
		{Name: "raceps2", Title: "Race (PS2)"},
		{Name: "raced", Title: "Race Demo"},
		{Name: "racejp", Title: "Race (Japanese)"},
		{Name: "race", Title: "Race"},
		{Name: "trace", Title: "The Trace"},
		{Name: "race4", Title: "Race IV"},
		{Name: "kings", Title: "King’s Race", Facts: Facts{Called: []string{"kr"}}},
	}
	for words, want := range map[string]string{
		"race":      "race raceps2 racejp race4 kings trace raced",
		"race 4":    "race4",
		"Race-iv":   "race4",
		"race 2005": "race raceps2 racejp race4 kings trace raced",
		"the race":  "race raceps2 racejp race4 kings trace raced",
		"kings rac": "kings", "KR": "kings", "kängs raze": "", "trade": "trace", "x": "",
		"": "raceps2 raced racejp race trace race4 kings",
	} {
		var names []string
		for _, g := range Search(list, words) {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
