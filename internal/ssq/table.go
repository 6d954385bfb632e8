package ssq

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Table is an answer: rows of cells under column names.
//
// A cell ends with NUL; after its last cell a row ends with LF and NUL. The
// first row is the header. In a cell, `\n` stands for a newline and `\\` for a
// backslash; after a backslash a newline itself is accepted too.
//
//	hostname 0 map 0 LF 0
//	My Server 0 de_dust 0 LF 0
type Table struct {
	Columns []string
	Rows    [][]string // each as long as Columns
	// More is the number of the first row that was left out, counted from the
	// start of the answer; 0: the answer is whole. See [AppendMore].
	More int
}

// HeaderForm is the form of the header of a table.
type HeaderForm uint8

// The forms.
const (
	NormalHeader  HeaderForm = iota // the names of the columns
	CompactHeader                   // 1 or 0 for each requested name: it is there or not
	NullHeader                      // one empty cell: all columns are there, as requested
)

var headerWords = [...]string{"normal", "compact", "null"}

// String returns the word for a form in queries.
func (f HeaderForm) String() string {
	if int(f) < len(headerWords) {
		return headerWords[f]
	}
	return "unknown"
}

// Reserved names. No column of data has them.
const (
	ErrorColumn = "x-error" // a refusal: one row, the error
	TokenColumn = "x-token" // for an unproved address: one row, the token to repeat
	AuthColumn  = "token"   // the answer to AUTH: one row, the token, empty if refused
	moreCell    = "x-more=" // a cell of the header, not a column
)

// AppendCell appends a cell. A NUL becomes a space.
func AppendCell(b []byte, cell string) []byte {
	if strings.IndexByte(cell, 0) < 0 && strings.IndexByte(cell, '\\') < 0 && strings.IndexByte(cell, '\n') < 0 {
		return append(append(b, cell...), 0)
	}
	for i := range len(cell) {
		switch c := cell[i]; c {
		case 0:
			b = append(b, ' ')
		case '\n':
			b = append(b, '\\', 'n')
		case '\\':
			b = append(b, '\\', '\\')
		default:
			b = append(b, c)
		}
	}
	return append(b, 0)
}

// AppendRowEnd ends a row.
func AppendRowEnd(b []byte) []byte { return append(b, '\n', 0) }

// AppendMore appends the cell that ends the header of a truncated table:
// "x-more=" and the number of rows up to there. Only because of it may the
// header have another number of cells than the rows.
func AppendMore(b []byte, rows int) []byte {
	return append(strconv.AppendInt(append(b, moreCell...), int64(rows), 10), 0)
}

// AppendHeader appends a header without its row end, so that AppendMore can
// follow it. there reports which of the requested columns are in the rows.
// Unless all are, a null header becomes a compact one.
func AppendHeader(b []byte, form HeaderForm, asked []string, there []bool) []byte {
	if form == NullHeader && slices.Contains(there, false) {
		form = CompactHeader
	}
	switch form {
	case NullHeader:
		return append(b, 0)
	case CompactHeader:
		for i := range asked {
			if there[i] {
				b = append(b, '1', 0)
			} else {
				b = append(b, '0', 0)
			}
		}
	default:
		for i, name := range asked {
			if there[i] {
				b = AppendCell(b, name)
			}
		}
	}
	return b
}

// AppendTo appends the table with a normal header; the null row if it has no
// columns.
func (t Table) AppendTo(b []byte) []byte {
	for _, name := range t.Columns {
		b = AppendCell(b, name)
	}
	if t.More > 0 {
		b = AppendMore(b, t.More)
	}
	b = AppendRowEnd(b)
	for _, row := range t.Rows {
		for _, cell := range row {
			b = AppendCell(b, cell)
		}
		b = AppendRowEnd(b)
	}
	return b
}

// ParseTable reads an answer. asked are the requested columns, for headers
// without names; nil if they are unknown. The error is ErrMalformed or
// ErrTooMuch. The answer is copied.
func ParseTable(answer []byte, asked []string) (Table, error) {
	if len(answer) > MaxAnswer {
		return Table{}, ErrTooMuch
	}
	rest := string(answer)
	header, rest, ok := cutRow(rest)
	if !ok {
		return Table{}, ErrMalformed
	}
	var t Table
	if t.More, header = cutMore(header); t.More < 0 {
		return Table{}, ErrMalformed
	}
	if t.Columns, ok = columnsOf(header, asked); !ok {
		return Table{}, ErrMalformed
	}
	for rest != "" {
		var row []string
		if row, rest, ok = cutRow(rest); !ok || len(row) != len(t.Columns) || len(row) == 0 {
			return Table{}, ErrMalformed
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// cutMore removes the number of rows from a header; -1: it is invalid.
func cutMore(header []string) (more int, rest []string) {
	if len(header) == 0 {
		return 0, header
	}
	last := len(header) - 1
	digits, found := strings.CutPrefix(header[last], moreCell)
	if !found {
		return 0, header
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return -1, header
	}
	return int(n), header[:last]
}

// columnsOf returns the names of the columns of the rows under a header.
func columnsOf(header, asked []string) (columns []string, ok bool) {
	switch {
	case len(header) == 1 && header[0] == "":
		return asked, len(asked) > 0
	case len(header) > 0 && !slices.ContainsFunc(header, func(c string) bool { return c != "0" && c != "1" }):
		if len(header) != len(asked) {
			return nil, false
		}
		for i, c := range header {
			if c == "1" {
				columns = append(columns, asked[i])
			}
		}
		return columns, true
	default:
		return header, !slices.Contains(header, "")
	}
}

// cutRow reads a row. It ends with a newline at the end of its last cell or in
// a cell of its own: both are in use.
func cutRow(b string) (cells []string, rest string, ok bool) {
	for {
		cell, after, found := strings.Cut(b, "\x00")
		if !found {
			return nil, b, false
		}
		b = after
		text, ends := strings.CutSuffix(cell, "\n")
		if ends && isEscaped(text) {
			ends, text = false, cell
		}
		if !ends || text != "" {
			cells = append(cells, unescape(text))
		}
		if ends {
			return cells, b, true
		}
	}
}

// isEscaped reports whether a backslash at the end of the text escapes the next
// byte.
func isEscaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

func unescape(cell string) string {
	if strings.IndexByte(cell, '\\') < 0 {
		return cell
	}
	b := make([]byte, 0, len(cell))
	for i := 0; i < len(cell); i++ {
		c := cell[i]
		if c == '\\' && i+1 < len(cell) {
			switch cell[i+1] {
			case '\\':
				i++
			case 'n', '\n':
				c = '\n'
				i++
			}
		}
		b = append(b, c)
	}
	return string(b)
}

// Cell returns a cell of a row by the name of its column, "" if there is none.
// Names are compared without regard to the case of ASCII letters.
func (t Table) Cell(row int, column string) string {
	i := slices.IndexFunc(t.Columns, func(c string) bool { return ascii.EqualFold(c, column) })
	if i < 0 || row < 0 || row >= len(t.Rows) {
		return ""
	}
	return t.Rows[row][i]
}

// pong is the answer to a ping. It is not a table.
var pong = []byte("j\x00\n")

// AppendPong appends the answer to a ping.
func AppendPong(b []byte) []byte { return append(b, pong...) }

// isPong reports whether an answer is one to a ping. It may end like a row.
func isPong(answer []byte) bool { return bytes.Equal(bytes.TrimSuffix(answer, []byte{0}), pong) }
