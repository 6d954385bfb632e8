package games

import (
	"fmt"
	"reflect"
	"strings"
)

// The tables of this program's own have a line for each record, columns between
// tabs, and comments that start with #. They are read at every start, so they are
// quicker to read than YAML.

// ParseTables reads the table of games and the one of their rooms:
//
//	name title secrets ...: the facts with the tag column, in their order
//	id game max_waiting name fields
//
// The items of a list are separated by spaces. Fields are \key\value\key\value. An empty
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
	games := columnsOf(gameRecord(), nil)
	eachRow(gameTable, len(games), source, &probs, func(row []string, where Source) {
		list = append(list, Game{Source: where})
		g := &list[len(list)-1]
		setRow(reflect.ValueOf(g).Elem(), games, row, func(reason string) { probs.add(where, row[0], "%s", reason) })
		if first, twice := at[g.Name]; twice {
			probs.add(where, g.Name, "already in %s", list[first].Source)
		}
		at[g.Name] = len(list) - 1
	})
	rooms := columnsOf(gameRecord().fact("rooms").item.parts, []string{"id", "game", "max_waiting", "name", "fields"})
	eachRow(roomTable, len(rooms), source, &probs, func(row []string, where Source) {
		i, known := at[row[1]]
		if !known {
			probs.add(where, row[1], "there is no such game")
			return
		}
		list[i].Rooms = append(list[i].Rooms, Room{})
		r := &list[i].Rooms[len(list[i].Rooms)-1]
		setRow(reflect.ValueOf(r).Elem(), rooms, row, func(reason string) { probs.add(where, row[1], "%s", reason) })
	})
	if err := probs.err(); err != nil {
		return nil, err
	}
	return list, nil
}

// ParseEditions reads the table of editions:
//
//	game copies version ...: the facts of an Edition with the tag column, in their order
//
// It returns a record for each game, which states its editions alone. All mistakes are
// returned together as an *InvalidError.
func ParseEditions(table string, source Source) ([]Game, error) {
	var probs problems
	var list []Game
	columns := columnsOf(gameRecord().fact("editions").item.parts, []string{"game"})
	eachRow(table, len(columns), source, &probs, func(row []string, where Source) {
		if len(list) == 0 || list[len(list)-1].Name != row[0] {
			list = append(list, Game{Name: row[0], Source: where})
		}
		g := &list[len(list)-1]
		g.Editions = append(g.Editions, Edition{})
		setRow(reflect.ValueOf(&g.Editions[len(g.Editions)-1]).Elem(), columns, row, func(reason string) { probs.add(where, row[0], "%s", reason) })
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

// columnsOf returns the facts with these keys, nil where r has none; without keys, those that are
// columns.
func columnsOf(r *record, keys []string) (columns []*fact) {
	for _, key := range keys {
		columns = append(columns, r.fact(key))
	}
	for i := range r.facts {
		if f := &r.facts[i]; f.column {
			columns = append(columns, f)
		}
	}
	return columns
}

func setRow(v reflect.Value, columns []*fact, row []string, bad func(reason string)) {
	for i, f := range columns {
		if f == nil || row[i] == "" {
			continue
		}
		if reason := f.setAll(f.in(v), row[i]); reason != "" {
			bad(f.key + " " + reason)
		}
	}
}

// Embedded are the lists that are built in.
type Embedded struct {
	Games, Rooms string // tables, see ParseTables
	Facts        []byte // records over those of the tables, see ParseYAML
	Editions     string // a table, see ParseEditions
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
	editions, err := ParseEditions(e.Editions, Source{Origin: FromEmbedded})
	if err != nil {
		return nil, fmt.Errorf("built-in editions: %w", err)
	}
	return [][]Game{tables, facts, editions}, nil
}
