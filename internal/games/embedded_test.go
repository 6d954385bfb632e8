package games

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../configs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// embedded returns the layers that are built in.
func embedded(t testing.TB) [][]Game {
	t.Helper()
	layers, err := Embedded{Games: string(read(t, "games.tsv")), Rooms: string(read(t, "rooms.tsv")), Facts: read(t, "games.yaml"), Editions: string(read(t, "editions.tsv"))}.Layers()
	if err != nil {
		t.Fatal(err)
	}
	return layers
}

// tableRow is a row of the table of known games, as testdata/table.jsonl has it.
type tableRow struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Secrets  []string `json:"secrets"`
	ID       int      `json:"id"`
	Port     uint16   `json:"port"`
	Flags    uint16   `json:"backend_flags"`
	Disabled uint32   `json:"disabled_services"`
}

func TestEmbeddedListEqualsTheTable(t *testing.T) {
	f, err := os.Open("testdata/table.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	want := make(map[string]tableRow)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row tableRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		want[row.Name] = row
	}
	if len(want) != 244 {
		t.Fatalf("the table has %d games, want 244", len(want))
	}
	// Known beyond the table: they have no secret, but need none to be verified.
	want["zandronum"] = tableRow{Name: "zandronum", Title: "Zandronum", Port: 10666}
	want["hexen2"] = tableRow{Name: "hexen2", Title: "Hexen II", Port: DefaultQueryPort}

	got := make(map[string]tableRow)
	for _, g := range newCatalog(t, embedded(t)...).All() {
		if _, known := want[g.Name]; !known {
			continue // the original database alone has it
		}
		got[g.Name] = tableRow{g.Name, g.Title, g.Secrets, g.ID, g.QueryPort, g.BackendFlags, g.DisabledServices}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the built-in games differ from the table (-table +built in):\n%s", diff)
	}
}

func TestEmbeddedGamesWithoutProof(t *testing.T) {
	var got []string
	for _, g := range newCatalog(t, embedded(t)...).All() {
		if g.Policy.NoSecure == On {
			got = append(got, g.Name)
		}
		if g.Policy.StrictAvailability != Inherit || g.Policy.StrictLegacyValidate != Inherit || g.Maintenance {
			t.Errorf("%s: %+v, maintenance %v; the list decides that for the operator", g.Name, g.Policy, g.Maintenance)
		}
	}
	want := "heretic2 hexen2 hexenworld nolf quake1 quake2 quakeworld"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("no_secure: %s, want %s", s, want)
	}
}

// TestEmbeddedRecordsAreValid stands for the check of other records when a catalogue is filled.
func TestEmbeddedRecordsAreValid(t *testing.T) {
	var probs problems
	for _, layer := range embedded(t) {
		for _, g := range layer {
			g.check(&probs)
			if g.Source.Origin != FromEmbedded || g.Name != strings.ToLower(g.Name) {
				t.Errorf("%s comes from %s", g.Name, g.Source)
			}
		}
	}
	if err := probs.err(); err != nil {
		t.Error(err)
	}
}

// TestEmbeddedGames checks that no game is lost.
func TestEmbeddedGames(t *testing.T) {
	catalog := newCatalog(t, embedded(t)...)
	rooms, nintendo, lanPorts := 0, 0, 0
	for _, g := range catalog.All() {
		rooms += len(g.Rooms)
		if g.UniqueNicks() == 16 {
			nintendo++
		}
		if len(g.LANPorts) > 0 {
			lanPorts++
		}
		if base, ok := catalog.Base(g.Name); !ok || len(g.Aliases) > 0 && base.Name != g.Name {
			t.Errorf("%s: has aliases and is one of %s", g.Name, base.Name)
		}
		for _, a := range g.Aliases {
			if _, known := catalog.Lookup(a); !known {
				t.Errorf("%s: the alias %s has no record", g.Name, a)
			}
		}
	}
	if n := catalog.Len(); n < 2414 || rooms < 1723 || nintendo < 614 || lanPorts < 100 {
		t.Errorf("%d games with %d rooms, %d of Nintendo, %d with ports; want at least 2414, 1723, 614 and 100", n, rooms, nintendo, lanPorts)
	}
}

// BenchmarkEmbedded reads the built-in catalogue, as a start does.
func BenchmarkEmbedded(b *testing.B) {
	e := Embedded{Games: string(read(b, "games.tsv")), Rooms: string(read(b, "rooms.tsv")), Facts: read(b, "games.yaml"), Editions: string(read(b, "editions.tsv"))}
	b.ReportAllocs()
	for b.Loop() {
		layers, err := e.Layers()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := NewCatalog(layers...); err != nil {
			b.Fatal(err)
		}
	}
}
