package games

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	const text = `games: [{name: x, tables: [{name: Levels, fields: [score:int, title:unicode], limit: 10, read: owner, write: none,
	  rateable: off, public: on}, {name: saves}]}]`
	want := []Table{
		{Name: "Levels", Fields: []TableField{{"score", "int"}, {"title", "unicode"}}, Limit: 10, Read: OwnerOnly, Write: NoPlayer, NotRateable: true, Public: true},
		{Name: "saves"},
	}
	list, err := ParseYAML(strings.NewReader(text), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, list[0].Tables); diff != "" {
		t.Errorf("tables differ (-want +got):\n%s", diff)
	}
	again, err := ParseYAML(bytes.NewReader(AppendYAML(nil, list)), Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again[0].Tables); diff != "" {
		t.Errorf("tables that were written differ (-want +got):\n%s", diff)
	}
	table, ok := list[0].Table("LEVELS")
	if field, known := table.Field("SCORE"); !ok || !known || field.Wire() != "intValue" {
		t.Errorf("Table, Field: %+v, %+v", table, field)
	}
	c, err := NewCatalog(list, []Game{{Name: "x", Given: FieldsOf("tables")}})
	if err != nil {
		t.Fatal(err)
	}
	if g, _ := c.Lookup("x"); len(g.Tables) != 0 {
		t.Errorf("a layer without tables leaves %+v", g.Tables)
	}
}

func TestTablesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                "name is missing",
		`{name: "a b"}`:                     "name must be 1 to 64",
		"{name: a}, {name: A}":              `table "A": is there twice`,
		"{name: a, limit: 0}":               "must be a number from 1",
		"{name: a, read: none}":             "read must be",
		"{name: a, write: some}":            "write must be",
		"{name: a, fields: [b]}":            "the type must be byte, short, int,",
		"{name: a, fields: [b:text]}":       "the type must be byte, short, int,",
		"{name: a, fields: [b.c:int]}":      "without a dot",
		"{name: a, fields: [b:int, B:int]}": "twice",
		"{name: a, size: 3}":                "unknown key",
	} {
		_, err := ParseYAML(strings.NewReader("games: [{name: x, tables: ["+text+"]}]"), Source{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
