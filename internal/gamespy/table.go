package gamespy

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
)

// Table is a table of strings inside a packet, such as the players or teams of
// a heartbeat:
//
//	u16be number of rows
//	column names, NUL-terminated, then an empty one
//	values, NUL-terminated, row by row
//
// It refers to the packet and is valid as long as the packet is. The zero value
// has neither columns nor rows.
type Table struct {
	names  []byte // names with their NULs, without the empty one
	values []byte // values of whole rows with their NULs
	rows   int
}

// Cell is one value of a table.
type Cell struct {
	Row    int    // from 0
	Column []byte // name of the column, part of the packet
	Value  []byte // part of the packet
}

var (
	// ErrTooManyRows reports more rows than a table can announce.
	ErrTooManyRows = errors.New("gamespy: too many rows for a table")

	// ErrColumnName reports an empty column name, which would end the names.
	ErrColumnName = errors.New("gamespy: empty column name")

	// ErrRowLength reports a row with more values than there are columns.
	ErrRowLength = errors.New("gamespy: row is longer than the table is wide")
)

// ParseTable reads a table from the start of p; rest is the input after it. If the
// packet ends inside the table, complete is false, rest is nil and the table
// holds the whole rows that came. The work depends only on the length of p,
// never on the announced number of rows, and nothing is allocated. A table
// without columns has no rows, whatever it announces.
func ParseTable(p []byte) (t Table, rest []byte, complete bool) {
	if len(p) < 2 {
		return Table{}, nil, false
	}
	announced := int(binary.BigEndian.Uint16(p))
	names, values, columns, ok := cutNames(p[2:])
	if !ok {
		return Table{}, nil, false
	}
	t.names = names
	if columns == 0 {
		return t, values, true
	}
	rest = values
	for t.rows < announced {
		after, ok := skipStrings(rest, columns)
		if !ok {
			return t, nil, false
		}
		rest = after
		t.rows++
		t.values = values[:len(values)-len(rest)]
	}
	return t, rest, true
}

// cutNames cuts strings up to and with an empty one, and counts them.
func cutNames(p []byte) (names, rest []byte, count int, ok bool) {
	rest = p
	for {
		name, after, ok := CutString(rest)
		if !ok {
			return nil, nil, 0, false
		}
		if len(name) == 0 {
			return p[:len(p)-len(rest)], after, count, true
		}
		rest = after
		count++
	}
}

func skipStrings(p []byte, n int) (rest []byte, ok bool) {
	for range n {
		if _, p, ok = CutString(p); !ok {
			return nil, false
		}
	}
	return p, true
}

// Rows returns the number of whole rows.
func (t Table) Rows() int { return t.rows }

// Columns yields the column names in order.
func (t Table) Columns() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for names := t.names; len(names) > 0; {
			var name []byte
			name, names, _ = CutString(names)
			if !yield(name) {
				return
			}
		}
	}
}

// Cells yields the values row by row, and in a row in the order of the columns.
func (t Table) Cells() iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		values := t.values
		for row := range t.rows {
			for names := t.names; len(names) > 0; {
				cell := Cell{Row: row}
				cell.Column, names, _ = CutString(names)
				cell.Value, values, _ = CutString(values)
				if !yield(cell) {
					return
				}
			}
		}
	}
}

// AppendTable appends a table to dst and returns the longer slice. A row that
// is too short is filled with empty values. Strings end at their first NUL. On
// [ErrTooManyRows], [ErrColumnName] or [ErrRowLength] it returns dst as it was.
func AppendTable(dst []byte, columns []string, rows [][]string) ([]byte, error) {
	if len(rows) > math.MaxUint16 {
		return dst, ErrTooManyRows
	}
	for _, name := range columns {
		if untilNUL(name) == "" {
			return dst, ErrColumnName
		}
	}
	for _, row := range rows {
		if len(row) > len(columns) {
			return dst, ErrRowLength
		}
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(rows)))
	for _, name := range columns {
		dst = AppendString(dst, name)
	}
	dst = AppendEnd(dst)
	for _, row := range rows {
		for _, value := range row {
			dst = AppendString(dst, value)
		}
		for range len(columns) - len(row) {
			dst = append(dst, 0)
		}
	}
	return dst, nil
}
