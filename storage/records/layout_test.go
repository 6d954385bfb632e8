package records

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
)

// tableConstants returns the names of all tables in tables.go.
func tableConstants(t *testing.T) (names []engine.Table) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "tables.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if name, err := strconv.Unquote(lit.Value); err == nil && name != "github.com/respawnd/respawnd/storage/engine" {
				names = append(names, engine.Table(name))
			}
		}
		return true
	})
	return names
}

func TestLayoutHasAllTables(t *testing.T) {
	want := tableConstants(t)
	slices.Sort(want)
	if got := Layout().Tables; !slices.Equal(got, want) {
		t.Errorf("Layout() has %v,\ntables.go has %v", got, want)
	}
}

func TestLayoutCheck(t *testing.T) {
	key, other := []byte("key"), []byte("kex")
	record, entry := sealRecord(key, []byte("{"), []byte("}")), engine.Seal(key, []byte("content"))
	flip := func(b []byte) []byte {
		b = slices.Clone(b)
		b[len(b)-1] ^= 1
		return b
	}
	check := Layout().Check
	for name, tt := range map[string]struct {
		table      engine.Table
		key, value []byte
		lost, bad  bool
	}{
		"a record":                      {tableBans, key, record, false, false},
		"a record under another key":    {tableBans, other, record, true, true},
		"a damaged record":              {tableBans, key, flip(record), false, true},
		"an entry as a record":          {tableBans, key, entry, false, true},
		"a chunk of a list":             {tableServers, key, wrap([]byte("{}")), false, false},
		"a damaged chunk":               {tableServers, key, flip(wrap([]byte("{}"))), false, true},
		"an entry":                      {tableNicks, key, entry, false, false},
		"an entry under another key":    {tableNicks, other, entry, true, true},
		"a damaged entry":               {tableNicks, key, flip(entry), true, true},
		"a part of a content":           {tableContents, key, entry, false, false},
		"a damaged part":                {tableContents, key, flip(entry), false, true},
		"an entry of an unknown table":  {"later", key, nil, false, false},
		"a value where only ids belong": {tableUserIDs, key, nil, false, false},
	} {
		lost, err := check(tt.table, tt.key, tt.value)
		if lost != tt.lost || isDamage(err) != tt.bad || (err != nil) != tt.bad {
			t.Errorf("%s: Check() = %v, %v, want %v, %v", name, lost, err, tt.lost, tt.bad)
		}
	}
}

func TestLayoutFirst(t *testing.T) {
	first := Layout().First
	for table, want := range map[engine.Table]bool{tableBans: true, tableMarks: true, tableUsers: false, tableServers: false} {
		if first(table) != want {
			t.Errorf("First(%s) = %v, want %v", table, !want, want)
		}
	}
}

func TestStrict(t *testing.T) {
	for _, table := range Strict() {
		if !slices.Contains(Layout().Tables, table) {
			t.Errorf("Layout() has no %s", table)
		}
	}
}
