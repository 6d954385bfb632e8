package games

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// tables reads the tables of a game.
func (y *yamlReader) tables(k, n *yaml.Node) (tables []Table) {
	for _, item := range y.items(k, n) {
		var t Table
		y.eachKey(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "name":
				t.Name = y.text(k, v)
			case "fields":
				t.Fields = y.tableFields(k, v)
			case "limit":
				t.Limit = int(y.number(k, v, 1, 31))
			case "read":
				t.Read = Access(y.text(k, v))
			case "write":
				t.Write = Access(y.text(k, v))
			case "rateable":
				t.NotRateable = y.position(k, v) == Off
			case "public":
				t.Public = y.position(k, v) == On
			default:
				y.bad(k, "table: unknown key %q", shorten(key))
			}
		})
		tables = append(tables, t)
	}
	return tables
}

// tableFields reads a list of names, each followed by ":" and its type.
func (y *yamlReader) tableFields(k, n *yaml.Node) (fields []TableField) {
	for _, item := range y.items(k, n) {
		name, kind, _ := strings.Cut(y.text(k, item), ":")
		fields = append(fields, TableField{Name: name, Type: kind})
	}
	return fields
}

// checkTables reports tables that a game cannot have.
func checkTables(tables []Table, bad func(string, ...any)) {
	if len(tables) > MaxTables {
		bad("%d tables, at most %d are allowed", len(tables), MaxTables)
		return
	}
	seen := make(map[string]bool, len(tables))
	for i := range tables {
		t := &tables[i]
		badTable := func(format string, args ...any) { bad("table %q: %s", shorten(t.Name), fmt.Sprintf(format, args...)) }
		if !isTableName(t.Name) {
			badTable("the name must be 1 to %d visible characters of ASCII", MaxTableName)
		}
		if folded := ascii.ToLower(t.Name); seen[folded] {
			badTable("there is one of that name")
		} else {
			seen[folded] = true
		}
		if t.Limit < 0 || t.Limit > MaxTableLimit {
			badTable("the limit must be 1 to %d", MaxTableLimit)
		}
		if t.Read != "" && t.Read != AllPlayers && t.Read != OwnerOnly {
			badTable("read must be all or owner")
		}
		if t.Write != "" && t.Write != AllPlayers && t.Write != OwnerOnly && t.Write != NoPlayer {
			badTable("write must be all, owner or none")
		}
		checkTableFields(t.Fields, badTable)
	}
}

func checkTableFields(fields []TableField, bad func(string, ...any)) {
	if len(fields) > MaxTableFields {
		bad("%d fields, at most %d are allowed", len(fields), MaxTableFields)
		return
	}
	for i, f := range fields {
		twice := slices.ContainsFunc(fields[:i], func(other TableField) bool { return ascii.EqualFold(other.Name, f.Name) })
		switch {
		case !isTableName(f.Name) || strings.Contains(f.Name, "."):
			bad("the name of field %d must be 1 to %d visible characters of ASCII without a dot", i+1, MaxTableName)
		case f.Wire() == "":
			bad("the type of field %q must be one of %s", f.Name, strings.Join(TableTypes(), ", "))
		case twice:
			bad("field %q is there twice", f.Name)
		}
	}
}

// isTableName reports whether s may be the name of a table or field.
func isTableName(s string) bool {
	return s != "" && len(s) <= MaxTableName && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// appendTables appends tables in the form that tables reads.
func appendTables(b []byte, tables []Table) []byte {
	for i, t := range tables {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(append(b, "{name: "...), t.Name)
		if len(t.Fields) > 0 {
			b = append(b, ", fields: ["...)
			for i, f := range t.Fields {
				if i > 0 {
					b = append(b, ", "...)
				}
				b = strconv.AppendQuote(b, f.Name+":"+f.Type)
			}
			b = append(b, ']')
		}
		if t.Limit > 0 {
			b = strconv.AppendInt(append(b, ", limit: "...), int64(t.Limit), 10)
		}
		if t.Read != "" {
			b = append(append(b, ", read: "...), t.Read...)
		}
		if t.Write != "" {
			b = append(append(b, ", write: "...), t.Write...)
		}
		if t.NotRateable {
			b = append(b, ", rateable: off"...)
		}
		if t.Public {
			b = append(b, ", public: on"...)
		}
		b = append(b, '}')
	}
	return b
}
