package games

import (
	"slices"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of the tables of a game.
const (
	MaxTables      = 1000   // MaxTables is the number of tables of a game.
	MaxTableFields = 200    // MaxTableFields is the number of fields of a table.
	MaxTableName   = 64     // MaxTableName is the longest name of a table or field.
	MaxTableLimit  = 10_000 // MaxTableLimit is the highest number of records of an owner.
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
	// Name is 1 to MaxTableName visible characters of ASCII; case does not matter.
	Name string
	// Fields are the only fields of the records; none: any.
	Fields []TableField
	// Limit is the number of records of one owner, up to MaxTableLimit; 0: the
	// service's setting.
	Limit int
	// Read is AllPlayers or OwnerOnly; empty: AllPlayers.
	Read Access
	// Write is AllPlayers, OwnerOnly or NoPlayer; empty: OwnerOnly.
	Write Access
	// NotRateable refuses ratings.
	NotRateable bool
	// Public shows the table on the pages.
	Public bool
}

// TableField is a field of a Table.
type TableField struct {
	Name string
	Type string // one of TableTypes
}

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

// TableTypes returns the names of the types of fields.
func TableTypes() (names []string) {
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
