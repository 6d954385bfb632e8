package query

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
)

// Bounds of the tables of an answer. Fields that do not fit stay rules.
const (
	MaxRows    = 256
	MaxColumns = 32
)

// Field is a name and a value.
type Field struct{ Name, Value string }

// Status is the status that a server reports.
type Status struct {
	Rules   []Field // in the order of the answer; a name may come twice
	Players Table
	Teams   Table

	// Validate and Echo are the answers to \secure\ and \echo\, empty if none came.
	Validate, Echo string
}

// Table holds players or teams. Each row has one value per column.
type Table struct {
	Columns []string
	Rows    [][]string
}

// Get returns the first rule of a name, without regard to the case of ASCII
// letters.
func (s *Status) Get(name string) (value string, ok bool) {
	name = strings.ToLower(name)
	for _, f := range s.Rules {
		if ascii.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// Columns returns the names and the values of the rules.
func (s *Status) Columns() (names, values []string) {
	names, values = make([]string, len(s.Rules)), make([]string, len(s.Rules))
	for i, f := range s.Rules {
		names[i], values[i] = f.Name, f.Value
	}
	return names, values
}

// Empty reports whether the status holds nothing.
func (s *Status) Empty() bool {
	return len(s.Rules) == 0 && len(s.Players.Rows) == 0 && len(s.Teams.Rows) == 0
}

// ParseText reads the fields of a whole text answer. The error is
// gamespy.ErrTooManyFields.
func ParseText(text []byte) (Status, error) {
	var st Status
	var fields []Field
	for s := gamespy.ScanFields([]byte(string(text))); s.Next(); {
		key := s.Key()
		switch {
		case isBare(key):
			if len(s.Value()) > 0 {
				s.DropValue()
			}
		case ascii.EqualFold(key, "queryid"), ascii.EqualFold(key, "statusresponse"):
		case ascii.EqualFold(key, "validate"):
			st.Validate = string(s.Value())
		case ascii.EqualFold(key, "echo"):
			st.Echo = string(s.Value())
		default:
			if len(fields) == gamespy.MaxFields {
				return Status{}, gamespy.ErrTooManyFields
			}
			fields = append(fields, Field{string(key), string(s.Value())})
		}
	}
	st.sort(fields)
	return st, nil
}

// sort divides the fields of a text answer into rules and tables.
func (s *Status) sort(fields []Field) {
	named := make(map[int]bool) // rows with a player's name
	for _, f := range fields {
		if column, row, ok := cutRow(f.Name); ok && slices.Contains(PlayerNames(), column) {
			named[row] = true
		}
	}
	var players, teams tableBuilder
	for _, f := range fields {
		column, row, ok := cutRow(f.Name)
		switch {
		case ok && isTeamColumn(column):
			ok = teams.set(column, row, f.Value)
		case ok && named[row]:
			ok = players.set(column, row, f.Value)
		default:
			ok = false
		}
		if !ok {
			s.Rules = append(s.Rules, f)
		}
	}
	s.Players, s.Teams = players.table(), teams.table()
}

// cutRow cuts the row off the name of a field. ok is false for names of rules.
func cutRow(name string) (column string, row int, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
		if len(name)-i > 3 {
			return "", 0, false
		}
	}
	column, digits := name[:i], name[i:]
	if digits == "" || (digits[0] == '0' && len(digits) > 1) {
		return "", 0, false
	}
	if len(column) < 2 || (!strings.HasSuffix(column, "_") && !strings.HasSuffix(column, "_t")) {
		return "", 0, false
	}
	for _, c := range digits {
		row = row*10 + int(c-'0')
	}
	return column, row, row < MaxRows
}

// PlayerNames returns the columns that may have the names of players.
func PlayerNames() []string { return []string{"player_", "playername_", "name_"} }

// isTeamColumn reports whether a column is one of teams: score_t or teamname_,
// but not team_, which is the team of a player.
func isTeamColumn(column string) bool {
	return strings.HasSuffix(column, "_t") || (strings.HasPrefix(column, "team") && column != "team_")
}

// tableBuilder collects the values of a table in any order.
type tableBuilder struct {
	columns []string
	cells   map[cell]string
	rows    map[int]bool
}

type cell struct{ row, column int }

// set stores a value; a later one for the same cell replaces it. ok is false if
// the table is full.
func (b *tableBuilder) set(column string, row int, value string) (ok bool) {
	i := slices.Index(b.columns, column)
	if i < 0 {
		if len(b.columns) == MaxColumns {
			return false
		}
		i = len(b.columns)
		b.columns = append(b.columns, column)
	}
	if b.cells == nil {
		b.cells, b.rows = make(map[cell]string), make(map[int]bool)
	}
	b.cells[cell{row, i}], b.rows[row] = value, true
	return true
}

// table returns the rows that have a value, in order.
func (b *tableBuilder) table() Table {
	var t Table
	for row := range MaxRows {
		if !b.rows[row] {
			continue
		}
		values := make([]string, len(b.columns))
		for i := range values {
			values[i] = b.cells[cell{row, i}]
		}
		t.Rows = append(t.Rows, values)
	}
	if len(t.Rows) > 0 {
		t.Columns = b.columns
	}
	return t
}

// Askable reports whether a packet to an address can reach one server and
// no other host: an IPv4 address with a port, neither multicast nor broadcast.
func Askable(a netip.AddrPort) bool {
	ip := a.Addr()
	return ip.Is4() && a.Port() != 0 && !ip.IsMulticast() && ip.As4()[0] != 0 && ip.As4()[0] < 240
}
