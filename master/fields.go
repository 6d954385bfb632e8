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
// reported them. The zero value is empty. Fields never change, and may be read
// by any number of goroutines.
type Fields struct{ content *content }

// Len returns the number of fields.
func (f Fields) Len() int { return f.Names().Len() }

// Names returns the shared list of names; nil if there are no fields.
func (f Fields) Names() *Names {
	if f.content == nil {
		return nil
	}
	return f.content.values().rules.names
}

// Value returns the value in slot i, 0 <= i < Len().
func (f Fields) Value(i int) string { return f.content.values().rules.value(i) }

// Get returns the value of a name, without regard to case.
func (f Fields) Get(name string) (string, bool) {
	if f.content == nil {
		return "", false
	}
	rules := &f.content.values().rules
	i, ok := rules.names.Index(name)
	if !ok {
		return "", false
	}
	return rules.value(i), true
}

// All yields names and values in their order.
func (f Fields) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		names := f.Names()
		for i := range names.Len() {
			if !yield(names.Name(i), f.Value(i)) {
				return
			}
		}
	}
}

// block returns the values, none for the zero Fields.
func (f Fields) block() block {
	if f.content == nil {
		return block{}
	}
	return f.content.values().rules
}

// Table is a list of players or teams: rows of values under common names. The
// zero value is an empty table. A Table never changes, and may be read by any
// number of goroutines.
type Table struct {
	content *content
	teams   bool // else it is the one of the players
}

func (t Table) block() *block {
	switch {
	case t.content == nil:
		return &block{}
	case t.teams:
		return &t.content.values().teams
	default:
		return &t.content.values().players
	}
}

// Rows returns the number of rows.
func (t Table) Rows() int { return t.block().rows }

// Names returns the shared list of column names; nil if there are none.
func (t Table) Names() *Names { return t.block().names }

// Columns returns the number of columns.
func (t Table) Columns() int { return t.Names().Len() }

// Value returns the value in a row and column.
func (t Table) Value(row, column int) string {
	b := t.block()
	return b.value(row*b.names.Len() + column)
}

// values are the parsed sections of a report.
type values struct{ rules, players, teams block }

// block is a section of a report. Its values are in one string, after a table
// of their ends:
//
//	offset  size
//	     0  2*n   end of value i, counted from the first value, little-endian
//	   2*n  -     the values, without separators
type block struct {
	names *Names
	rows  int // of a table
	n     int // number of values
	text  string
}

func (b *block) value(i int) string {
	start := 0
	if i > 0 {
		start = b.end(i - 1)
	}
	return b.text[2*b.n:][start:b.end(i)]
}

func (b *block) end(i int) int {
	return int(b.text[2*i]) | int(b.text[2*i+1])<<8
}

// same reports whether a freshly built section holds the same names and values.
func (b *block) same(s *section, text []byte) bool {
	return b.names.same(s.names) && b.rows == s.rows && b.text == string(text)
}

// A Report collects the reported data of a server and is written into its
// record: one Report is reused by one reader for all packets. It is not safe
// for concurrent use. Fill it section by section, in the order rules, players,
// teams; within a section call Value once per kept name.
type Report struct {
	rules, players, teams section
	block                 []byte
}

type section struct {
	names  *Names
	rows   int
	ends   []byte // as in the block: two bytes each
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

// SetRules sets the names of the values added by Rule, whose number must be
// names.Len().
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

// Same reports whether the record already has the values of the report.
func (r *Report) Same(s *Server) bool {
	rules, players, teams := r.blocks()
	old := s.Rules.block()
	return old.same(&r.rules, rules) &&
		s.Players.block().same(&r.players, players) &&
		s.Teams.block().same(&r.teams, teams)
}

// Into writes the report into a record that is not listed yet. All values share
// one allocation.
func (r *Report) Into(s *Server) error {
	v, err := r.values()
	if err != nil {
		return err
	}
	c := &content{}
	c.read.Store(v)
	c.into(s)
	return nil
}

func (r *Report) values() (*values, error) {
	for _, sec := range []*section{&r.rules, &r.players, &r.teams} {
		if sec.full || sec.rows > math.MaxUint16 || len(sec.ends)/2 != sec.want(sec == &r.rules) {
			return nil, ErrTooBig
		}
	}
	rules, players, _ := r.blocks()
	shared := string(r.block)
	a, b := len(rules), len(rules)+len(players)
	return &values{
		rules:   r.rules.block(shared[:a]),
		players: r.players.block(shared[a:b]),
		teams:   r.teams.block(shared[b:]),
	}, nil
}

func (s *section) block(text string) block {
	return block{names: s.names, rows: s.rows, n: len(s.ends) / 2, text: text}
}

// want returns the number of values that the names require.
func (s *section) want(rules bool) int {
	if rules {
		return s.names.Len()
	}
	return s.rows * s.names.Len()
}

// blocks writes the three sections one after the other into r.block.
func (r *Report) blocks() (rules, players, teams []byte) {
	b := append(append(r.block[:0], r.rules.ends...), r.rules.values...)
	i := len(b)
	b = append(append(b, r.players.ends...), r.players.values...)
	j := len(b)
	b = append(append(b, r.teams.ends...), r.teams.values...)
	r.block = b
	return b[:i], b[i:j], b[j:]
}
