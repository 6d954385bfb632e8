package bfhq

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Answer is the text of a page, see the package comment.
type Answer struct {
	Failed bool
	Code   int // of the error; 0: none
	Tables []Table
	Script string // lines in the one value of a last table, config; ParseAnswer does not read it
}

// Table is a part of an answer. Rows have as many values as there are columns.
type Table struct {
	Columns []string
	Rows    [][]string
}

// errAnswer reports a text that is no answer.
var errAnswer = errors.New("not an answer of the pages")

func (a *Answer) table(columns []string, rows ...[]string) *Answer {
	a.Tables = append(a.Tables, Table{columns, rows})
	return a
}

// AppendTo appends the text. A tab or a control character in a value becomes a space.
func (a *Answer) AppendTo(b []byte) []byte {
	start := len(b)
	switch {
	case !a.Failed:
		b = append(b, 'O')
	case a.Code == 0:
		b = append(b, 'E')
	default:
		b = strconv.AppendInt(append(b, "E\t"...), int64(a.Code), 10)
	}
	b = append(b, '\n')
	for _, t := range a.Tables {
		b = appendLine(b, 'H', t.Columns)
		for _, row := range t.Rows {
			b = appendLine(b, 'D', row)
		}
	}
	if a.Script != "" {
		b = append(append(append(b, "H\tconfig\nD\t"...), a.Script...), '\n')
	}
	n := weight(b[start:])
	b = strconv.AppendInt(append(b, "$\t"...), int64(n), 10)
	return append(b, "\t$"...)
}

// weight returns the number of characters of lines without tabs and line feeds.
func weight(lines []byte) int {
	n := utf8.RuneCount(lines)
	for _, c := range lines {
		if c == '\t' || c == '\n' {
			n--
		}
	}
	return n
}

func appendLine(b []byte, mark byte, values []string) []byte {
	b = append(b, mark)
	for _, v := range values {
		b = append(b, '\t')
		for i := range len(v) {
			if v[i] < ' ' {
				b = append(b, ' ')
				continue
			}
			b = append(b, v[i])
		}
	}
	return append(b, '\n')
}

// ParseAnswer reads the text of a page and checks the number in its last line.
func ParseAnswer(text string) (a Answer, err error) {
	i := strings.LastIndexByte(text, '\n')
	first, _, _ := strings.Cut(text, "\n")
	if i < 0 || text[i+1:] != "$\t"+strconv.Itoa(weight([]byte(text[:i+1])))+"\t$" {
		return a, errAnswer
	}
	word, code, coded := strings.Cut(first, "\t")
	if coded {
		if a.Code, err = strconv.Atoi(code); err != nil || a.Code <= 0 || strconv.Itoa(a.Code) != code {
			return a, errAnswer
		}
	}
	a.Failed = word == "E"
	if word != "O" && !a.Failed || coded && !a.Failed {
		return a, errAnswer
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text[len(first)+1:i+1], "\n"), "\n") {
		if line == "" && len(first) == i {
			break // there are no tables
		}
		values := strings.Split(line, "\t")
		last := len(a.Tables) - 1
		switch {
		case values[0] == "H":
			a.Tables = append(a.Tables, Table{Columns: values[1:]})
		case values[0] == "D" && last >= 0 && len(values)-1 == len(a.Tables[last].Columns):
			a.Tables[last].Rows = append(a.Tables[last].Rows, values[1:])
		default:
			return a, errAnswer
		}
	}
	return a, nil
}

// Value returns the value of a column in the first row of the first table that has it.
func (a *Answer) Value(column string) (value string, ok bool) {
	for _, t := range a.Tables {
		for i, c := range t.Columns {
			if c == column && len(t.Rows) > 0 {
				return t.Rows[0][i], true
			}
		}
	}
	return "", false
}
