package games

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const embeddedFile = "../../configs/games.yaml"

func embedded(t *testing.T) []Game {
	t.Helper()
	f, err := os.Open(embeddedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	list, err := ParseYAML(f, Source{Origin: FromEmbedded, File: "games.yaml"})
	if err != nil {
		t.Fatalf("ParseYAML(%s): %v", embeddedFile, err)
	}
	return list
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
	for _, g := range newCatalog(t, embedded(t)).All() {
		got[g.Name] = tableRow{g.Name, g.Title, g.Secrets, g.ID, g.QueryPort, g.BackendFlags, g.DisabledServices}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs from the table (-table +file):\n%s", embeddedFile, diff)
	}
}

func TestEmbeddedGamesWithoutProof(t *testing.T) {
	var got []string
	for _, g := range newCatalog(t, embedded(t)).All() {
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

// TestEmbeddedFileIsInWrittenForm keeps hand edits in the form of AppendYAML below
// a header of comments that names every key.
func TestEmbeddedFileIsInWrittenForm(t *testing.T) {
	data, err := os.ReadFile(embeddedFile)
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := bytes.Cut(data, []byte("games:\n"))
	list, err := ParseYAML(bytes.NewReader(data), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if want := AppendYAML(bytes.Clone(header), list); !bytes.Equal(want, data) {
		t.Errorf("the file is not in the written form (-want +got):\n%s", cmp.Diff(string(want), string(data)))
	}
	for _, key := range []string{
		"name", "title", "secrets", "secret:", "id", "port", "backend_flags", "disabled_services", "maintenance",
		"rooms", "max_waiting", "fields", "policy", "strict_availability", "no_secure", "strict_legacy_validate",
	} {
		if !bytes.Contains(header, []byte(key)) {
			t.Errorf("the header does not explain %s", key)
		}
	}
}
