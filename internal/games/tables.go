package games

import (
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Access determines which players may use the records of a table.
type Access string

// The kinds of access. An empty one is the default: all players read, and write their
// own records.
const (
	AllPlayers Access = "all"
	OwnerOnly  Access = "owner"
	NoPlayer   Access = "none" // only operators
)

// Table is a table of records that players of a game store.
type Table struct {
	// Case does not matter.
	Name string `yaml:"name,required,fold" as:"visible" max:"64"`
	// The only fields, each with its type: byte, short, int, int64, float, ascii,
	// unicode, boolean, date or binary. None: any fields.
	Fields []TableField `yaml:"fields" most:"200"`
	// Records of one player; missing: as sake.records_per_owner says.
	Limit int `yaml:"limit" range:"1 to 10000"`
	// Players that read the records; missing: all.
	Read Access `yaml:"read" words:"all, owner"`
	// Players that write records, none: only operators; missing: owner.
	Write Access `yaml:"write" words:"all, owner, none"`
	// off: players cannot rate records.
	NotRateable bool `yaml:"rateable,not"`
	// on: show the records on the pages.
	Public bool `yaml:"public"`
}

func (t *Table) rules(bad func(string, ...any)) {
	for i, f := range t.Fields {
		if slices.ContainsFunc(t.Fields[:i], func(other TableField) bool { return ascii.EqualFold(other.Name, f.Name) }) {
			bad("field %q is there twice", shorten(f.Name))
		}
	}
}

// TableField is a field of a Table.
type TableField struct {
	Name string
	Type string // one of tableTypes
}

// String returns the name, ":" and the type.
func (f TableField) String() string { return f.Name + ":" + f.Type }

func (f *TableField) parse(text string) error {
	f.Name, f.Type, _ = strings.Cut(text, ":")
	return nil
}

func (f *TableField) rules(bad func(string, ...any)) {
	if visible(f.Name, maxTableField) != "" || strings.Contains(f.Name, ".") {
		bad("the name must be 1 to %d visible characters of ASCII without a dot", maxTableField)
	}
	if f.Wire() == "" {
		bad("the type must be %s", oneOf(tableTypeNames()))
	}
}

// maxTableField bounds the name of a field of a table.
const maxTableField = 64

// tableTypes are the types of fields and their names on the wire.
var tableTypes = [...]struct{ name, wire string }{
	{"byte", "byteValue"},
	{"short", "shortValue"},
	{"int", "intValue"},
	{"int64", "int64Value"},
	{"float", "floatValue"},
	{"ascii", "asciiStringValue"},
	{"unicode", "unicodeStringValue"},
	{"boolean", "booleanValue"},
	{"date", "dateAndTimeValue"},
	{"binary", "binaryDataValue"},
}

func tableTypeNames() (names []string) {
	for _, t := range tableTypes {
		names = append(names, t.name)
	}
	return names
}

// Wire returns the name of the type on the wire, "" if there is no such type.
func (f TableField) Wire() string {
	for _, t := range tableTypes {
		if t.name == f.Type {
			return t.wire
		}
	}
	return ""
}

// Field returns the field with a name, ignoring case.
func (t *Table) Field(name string) (TableField, bool) {
	i := slices.IndexFunc(t.Fields, func(f TableField) bool { return ascii.EqualFold(f.Name, name) })
	if i < 0 {
		return TableField{}, false
	}
	return t.Fields[i], true
}

// Table returns the table with a name, ignoring case.
func (g Game) Table(name string) (Table, bool) {
	i := slices.IndexFunc(g.Tables, func(t Table) bool { return ascii.EqualFold(t.Name, name) })
	if i < 0 {
		return Table{}, false
	}
	return g.Tables[i], true
}
