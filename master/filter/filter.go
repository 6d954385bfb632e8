package filter

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// MaxLength is the longest filter text in bytes. It also bounds the size of a compiled filter: a
// text has no more nodes, names and levels than bytes.
const MaxLength = 1024

// ErrTooLong is returned by Compile for a text of more than MaxLength bytes.
var ErrTooLong = errors.New("filter: longer than " + strconv.Itoa(MaxLength) + " bytes")

// SyntaxError reports where and why a text is not a filter.
type SyntaxError struct {
	Offset  int    // in bytes from the start of the text
	Message string // short, printable, such as "expected a value after >"
}

// Error returns the message with its offset.
func (e *SyntaxError) Error() string {
	return "filter: " + e.Message + " at byte " + strconv.Itoa(e.Offset)
}

// Row is one server as a filter sees it.
type Row interface {
	// Field returns the value of the field at index i of Filter.Names. ok is
	// false if the server has no such field.
	Field(i int) (value string, ok bool)
}

// Budget bounds the work of one or more calls of Match. Steps goes down by one
// for each operator, field and constant that is evaluated and for each byte that
// is compared as text. It may end a little below zero.
type Budget struct {
	Steps int
}

// Exhausted reports whether the budget is used up, in which case Match returned
// false for lack of it. A nil budget is never exhausted.
func (b *Budget) Exhausted() bool {
	return b != nil && b.Steps <= 0
}

// ListBudget returns the budget of one filter for a list of rows, so that no
// client can keep a processor busy with one line of text. Filters of real games
// take a few dozen steps per row.
func ListBudget(rows int) Budget {
	const (
		perList = 2_000_000
		perRow  = 400
	)
	return Budget{Steps: perList + perRow*rows}
}

// Filter is a compiled filter. It does not change once made, so any number of
// goroutines may share it. The zero Filter matches everything.
type Filter struct {
	source    string // without blanks around it
	nodes     []node // operands before their operator, so the last is the root
	constants []value
	names     []string
	groupID   int // index of groupid in names, or -1
}

// Compile reads a filter. The error is ErrTooLong or a *SyntaxError. An empty or
// blank text is a filter that matches everything.
func Compile(text string) (*Filter, error) {
	if len(text) > MaxLength {
		return nil, ErrTooLong
	}
	text = strings.Clone(text) // a cached filter must not keep a packet in memory
	f := &Filter{source: strings.Trim(text, blanks), groupID: -1}
	if f.source == "" {
		return f, nil
	}
	if err := parse(f, text); err != nil {
		return nil, err
	}
	return f, nil
}

// Names returns the fields the filter uses in the order of their first use, in
// lower case and each once. Row.Field takes an index into it. The slice belongs
// to the filter and must not be changed.
func (f *Filter) Names() []string {
	return f.names
}

// Trivial reports whether the filter is the blank one, which matches everything
// and never reads a field.
func (f *Filter) Trivial() bool {
	return len(f.nodes) == 0
}

// Match reports whether row passes the filter. It subtracts its steps from b
// and returns false once b is exhausted; a nil b is unlimited. It does not
// block.
func (f *Filter) Match(row Row, b *Budget) bool {
	e := evaluator{filter: f, row: row, steps: math.MaxInt}
	if b != nil {
		e.steps = b.Steps
	}
	matched := f.Trivial() || e.truth(len(f.nodes)-1)
	if b != nil {
		b.Steps = e.steps
	}
	return matched && e.steps > 0
}
