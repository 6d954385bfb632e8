package games

import (
	"fmt"
	"strconv"
	"strings"
)

// The tables of this program's own have a line for each record, columns between
// tabs, and comments that start with #. They are read at every start, so they are
// quicker to read than YAML.
const (
	gameColumns = 13
	roomColumns = 5
)

// ParseTables reads the table of games and the one of their rooms:
//
//	name title secrets id port backend_flags disabled_services
//	  domains namespace lan_ports needs uses keys
//	id game max_waiting name fields
//
// The items of a list are separated by spaces; a key that is not text is
// followed by ":" and its type. Fields are \key\value\key\value. An empty
// column is not stated. A room of a game without a record in the table of games
// is an error.
//
// source is copied into every game, with the line of its record. All mistakes
// are returned together as an *InvalidError. The games share the memory of the
// tables.
func ParseTables(gameTable, roomTable string, source Source) ([]Game, error) {
	var probs problems
	list := make([]Game, 0, strings.Count(gameTable, "\n"))
	at := make(map[string]int, cap(list))
	eachRow(gameTable, gameColumns, source, &probs, func(row []string, where Source) {
		g := gameFromTable(row, where, &probs)
		if _, twice := at[g.Name]; twice {
			probs.add(where, g.Name, "already in %s", list[at[g.Name]].Source)
			return
		}
		at[g.Name] = len(list)
		list = append(list, g)
	})
	eachRow(roomTable, roomColumns, source, &probs, func(row []string, where Source) {
		i, known := at[row[1]]
		if !known {
			probs.add(where, row[1], "there is no such game")
			return
		}
		list[i].Rooms = append(list[i].Rooms, roomFromTable(row, where, &probs))
	})
	if err := probs.err(); err != nil {
		return nil, err
	}
	return list, nil
}

// eachRow calls f for every row of a table with as many columns as it must have.
// The slice is f's only until it returns.
func eachRow(table string, columns int, source Source, probs *problems, f func(row []string, at Source)) {
	row := make([]string, columns)
	for line := range strings.Lines(table) {
		source.Line++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		rest, more := line, true
		n := 0
		for ; more && n < columns; n++ {
			row[n], rest, more = strings.Cut(rest, "\t")
		}
		if more || n < columns {
			probs.add(source, "", "%d columns, want %d", strings.Count(line, "\t")+1, columns)
			continue
		}
		f(row, source)
	}
}

func gameFromTable(row []string, at Source, probs *problems) Game {
	number := tableNumber(at, row[0], probs)
	g := Game{
		Name: row[0], Title: row[1], Secrets: words(row[2]), Source: at,
		ID: int(number("id", row[3], 31)), QueryPort: uint16(number("port", row[4], 16)),
		BackendFlags: uint16(number("backend_flags", row[5], 16)), DisabledServices: uint32(number("disabled_services", row[6], 32)),
	}
	g.Domains, g.Namespace = words(row[7]), int(number("namespace", row[8], 16))
	for port := range strings.FieldsSeq(row[9]) {
		g.LANPorts = append(g.LANPorts, uint16(number("lan_ports", port, 16)))
	}
	g.Needs, g.Uses = tableServices(row[10]), tableServices(row[11])
	for word := range strings.FieldsSeq(row[12]) {
		name, kind, _ := strings.Cut(word, ":")
		g.Keys = append(g.Keys, Key{Name: name, Type: uint8(number("key "+name, kind, 8))})
	}
	return g
}

// words splits a text at spaces; nil if it is empty.
func words(column string) []string {
	if column == "" {
		return nil
	}
	return strings.Fields(column)
}

func tableServices(column string) (out []Service) {
	for word := range strings.FieldsSeq(column) {
		out = append(out, Service(word))
	}
	return out
}

func roomFromTable(row []string, at Source, probs *problems) Room {
	number := tableNumber(at, row[1], probs)
	r := Room{ID: uint32(number("id", row[0], 32)), Name: row[3], MaxWaiting: int(number("max_waiting", row[2], 31))}
	fields := strings.TrimPrefix(row[4], `\`)
	for fields != "" {
		var f Field
		f.Key, fields, _ = strings.Cut(fields, `\`)
		f.Value, fields, _ = strings.Cut(fields, `\`)
		r.Fields = append(r.Fields, f)
	}
	return r
}

// tableNumber returns how to read a number of a row, 0 if the column is empty.
func tableNumber(at Source, name string, probs *problems) func(column, text string, bits int) uint64 {
	return func(column, text string, bits int) uint64 {
		if text == "" {
			return 0
		}
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			probs.add(at, name, "%s must be a number from 0 to %d", column, uint64(1)<<bits-1)
		}
		return v
	}
}

// Embedded are the lists that are built in.
type Embedded struct {
	Games, Rooms string // tables, see ParseTables
	Facts        []byte // records over those of the tables, see ParseYAML
}

// Layers returns the built-in records, the lowest layer first.
func (e Embedded) Layers() ([][]Game, error) {
	tables, err := ParseTables(e.Games, e.Rooms, Source{Origin: FromEmbedded})
	if err != nil {
		return nil, fmt.Errorf("built-in tables: %w", err)
	}
	facts, err := ParseYAML(strings.NewReader(string(e.Facts)), Source{Origin: FromEmbedded})
	if err != nil {
		return nil, fmt.Errorf("built-in games: %w", err)
	}
	return [][]Game{tables, facts}, nil
}
