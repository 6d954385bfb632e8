package master

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
)

// ErrTooBig is returned for a report whose values do not fit a record: more
// than 65,535 bytes of values, or more than 65,535 rows in a table.
var ErrTooBig = errors.New("report too big")

// Fields are the rules of a server: names and values in the order in which it
// reported them. The zero value is empty. Fields never change.
//
// The values lie in one string behind a table of their ends:
//
//	offset  size
//	     0  2*n   end of value i, counted from the first value, little-endian
//	   2*n  -     the values, one behind the other
type Fields struct {
	names *Names
	block string
}

// Len returns the number of fields.
func (f Fields) Len() int { return f.names.Len() }

// Names returns the shared list of names; nil if there are no fields.
func (f Fields) Names() *Names { return f.names }

// Value returns the value in slot i, 0 <= i < Len().
func (f Fields) Value(i int) string { return blockValue(f.block, f.names.Len(), i) }

// Get returns the value of a name, without regard to case.
func (f Fields) Get(name string) (string, bool) {
	i, ok := f.names.Index(name)
	if !ok {
		return "", false
	}
	return f.Value(i), true
}

// All yields names and values in their order.
func (f Fields) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range f.Len() {
			if !yield(f.names.Name(i), f.Value(i)) {
				return
			}
		}
	}
}

// same reports whether a freshly built block holds the same names and values.
func (f Fields) same(names *Names, block []byte) bool {
	return f.names.same(names) && f.block == string(block)
}

// Table is a list of players or teams: rows of values under common names. The
// zero value is an empty table. A Table never changes.
type Table struct {
	names *Names
	rows  int
	block string
}

// Rows returns the number of rows.
func (t Table) Rows() int { return t.rows }

// Names returns the shared list of column names; nil if there are none.
func (t Table) Names() *Names { return t.names }

// Columns returns the number of columns.
func (t Table) Columns() int { return t.names.Len() }

// Value returns the value in a row and column.
func (t Table) Value(row, column int) string {
	columns := t.names.Len()
	return blockValue(t.block, t.rows*columns, row*columns+column)
}

func (t Table) same(names *Names, rows int, block []byte) bool {
	return t.names.same(names) && t.rows == rows && t.block == string(block)
}

// blockValue returns value i of a block of n values.
func blockValue(block string, n, i int) string {
	values := block[2*n:]
	start := 0
	if i > 0 {
		start = blockEnd(block, i-1)
	}
	return values[start:blockEnd(block, i)]
}

func blockEnd(block string, i int) int {
	return int(block[2*i]) | int(block[2*i+1])<<8
}

// A Report collects what a server says about itself and becomes its record
// without work in between: one Report is reused by one reader for all packets.
// It is not safe for concurrent use. Fill it section by section, in the order
// rules, players, teams; within a section call Value once per kept name.
type Report struct {
	rules, players, teams section
	block                 []byte
}

type section struct {
	names  *Names
	rows   int
	ends   []byte // as they lie in the block: two bytes each
	values []byte
	full   bool
}

func (s *section) reset() {
	s.names, s.rows, s.full = nil, 0, false
	s.ends, s.values = s.ends[:0], s.values[:0]
}

func (s *section) add(value []byte) {
	if len(s.values)+len(value) > math.MaxUint16 {
		s.full = true
		return
	}
	s.values = append(s.values, value...)
	s.ends = binary.LittleEndian.AppendUint16(s.ends, uint16(len(s.values)))
}

// Reset empties the report and keeps its memory.
func (r *Report) Reset() {
	r.rules.reset()
	r.players.reset()
	r.teams.reset()
}

// Rule adds the value of the next kept rule. The bytes are copied.
func (r *Report) Rule(value []byte) { r.rules.add(value) }

// SetRules says which names the values added by Rule belong to; their number
// must be names.Len().
func (r *Report) SetRules(names *Names) { r.rules.names = names }

// Player adds the next value of the player table, row by row.
func (r *Report) Player(value []byte) { r.players.add(value) }

// SetPlayers names the columns of the player table and its number of rows.
func (r *Report) SetPlayers(names *Names, rows int) {
	r.players.names, r.players.rows = names, rows
}

// Team adds the next value of the team table, row by row.
func (r *Report) Team(value []byte) { r.teams.add(value) }

// SetTeams names the columns of the team table and its number of rows.
func (r *Report) SetTeams(names *Names, rows int) {
	r.teams.names, r.teams.rows = names, rows
}

// Same reports whether the record already says what the report says.
func (r *Report) Same(s *Server) bool {
	rules, players, teams := r.blocks()
	return s.Rules.same(r.rules.names, rules) &&
		s.Players.same(r.players.names, r.players.rows, players) &&
		s.Teams.same(r.teams.names, r.teams.rows, teams)
}

// Into writes the report into a record that is not listed yet. All values share
// one allocation.
func (r *Report) Into(s *Server) error {
	for _, sec := range []*section{&r.rules, &r.players, &r.teams} {
		if sec.full || sec.rows > math.MaxUint16 || len(sec.ends)/2 != sec.want(sec == &r.rules) {
			return ErrTooBig
		}
	}
	rules, players, _ := r.blocks()
	shared := string(r.block)
	a, b := len(rules), len(rules)+len(players)
	s.Rules = Fields{names: r.rules.names, block: shared[:a]}
	s.Players = Table{names: r.players.names, rows: r.players.rows, block: shared[a:b]}
	s.Teams = Table{names: r.teams.names, rows: r.teams.rows, block: shared[b:]}
	return nil
}

// want is the number of values that the names ask for.
func (s *section) want(rules bool) int {
	if rules {
		return s.names.Len()
	}
	return s.rows * s.names.Len()
}

// blocks lays the three sections out behind each other in r.block.
func (r *Report) blocks() (rules, players, teams []byte) {
	b := append(append(r.block[:0], r.rules.ends...), r.rules.values...)
	i := len(b)
	b = append(append(b, r.players.ends...), r.players.values...)
	j := len(b)
	b = append(append(b, r.teams.ends...), r.teams.values...)
	r.block = b
	return b[:i], b[i:j], b[j:]
}
