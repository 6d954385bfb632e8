package gamespy

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadReports returns the sections of heartbeats that the original host sent:
// pairs, then none or two tables.
func loadReports(t testing.TB) map[string]hexBytes {
	return loadJSON[map[string]hexBytes](t, "reports.json")
}

// contents returns the columns and rows of a table.
func contents(t Table) (columns []string, rows [][]string) {
	for name := range t.Columns() {
		columns = append(columns, string(name))
	}
	for cell := range t.Cells() {
		if cell.Row == len(rows) {
			rows = append(rows, nil)
		}
		rows[cell.Row] = append(rows[cell.Row], string(cell.Value))
	}
	return columns, rows
}

func TestParseTable(t *testing.T) {
	tests := map[string]struct {
		in       string
		columns  []string
		rows     [][]string
		rest     string
		complete bool
	}{
		"two by two":           {"\x00\x02a\x00b\x00\x001\x002\x003\x00\x00rest", []string{"a", "b"}, [][]string{{"1", "2"}, {"3", ""}}, "rest", true},
		"columns without rows": {"\x00\x00a\x00b\x00\x00rest", []string{"a", "b"}, nil, "rest", true},
		"nothing in it":        {"\x00\x00\x00rest", nil, nil, "rest", true},
		"rows without columns": {"\xff\xff\x00rest", nil, nil, "rest", true},
		"more rows than data":  {"\xff\xffa\x00\x001\x002\x00", []string{"a"}, [][]string{{"1"}, {"2"}}, "", false},
		"announced but empty":  {"\xff\xffa\x00\x00", []string{"a"}, nil, "", false},
		"cut in a row":         {"\x00\x02a\x00b\x00\x001\x002\x003\x00", []string{"a", "b"}, [][]string{{"1", "2"}}, "", false},
		"cut in a value":       {"\x00\x01a\x00\x00val", []string{"a"}, nil, "", false},
		"cut in the names":     {"\x00\x01a\x00b", nil, nil, "", false},
		"names without end":    {"\x00\x01a\x00", nil, nil, "", false},
		"only a count":         {"\x00\x01", nil, nil, "", false},
		"half a count":         {"\x00", nil, nil, "", false},
		"nothing":              {"", nil, nil, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			table, rest, complete := ParseTable([]byte(tt.in))
			columns, rows := contents(table)
			if diff := cmp.Diff(tt.columns, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if table.Rows() != len(tt.rows) || string(rest) != tt.rest || complete != tt.complete {
				t.Errorf("ParseTable(%q) = %d rows, %q, %v, want %d rows, %q, %v",
					tt.in, table.Rows(), rest, complete, len(tt.rows), tt.rest, tt.complete)
			}
		})
	}
}

func TestReportsOfTheOriginalHost(t *testing.T) {
	tests := map[string]struct {
		last           [2]string // last pair
		players, teams int       // -1: no section
	}{
		"players and teams": {[2]string{"rankingon", ""}, 4, 2},
		"no public address": {[2]string{"unknown", ""}, 0, 0},
		"server keys only":  {[2]string{"rankingon", ""}, -1, -1},
		"leaving":           {[2]string{"publicport", "11111"}, -1, -1},
	}
	reports := loadReports(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			report := reports[name]
			list, rest, complete := readPairs(report)
			if !complete || len(list) < 2 {
				t.Fatalf("Pairs: %d strings, complete %v", len(list), complete)
			}
			if last := [2]string(list[len(list)-2:]); last != tt.last {
				t.Errorf("last pair = %q, want %q", last, tt.last)
			}
			var again []byte
			for i := 0; i < len(list); i += 2 {
				again = AppendPair(again, list[i], list[i+1])
			}
			again = AppendEnd(again)
			for _, want := range []int{tt.players, tt.teams} {
				if want < 0 {
					continue
				}
				var table Table
				table, rest, complete = ParseTable(rest)
				if !complete || table.Rows() != want {
					t.Fatalf("ParseTable: %d rows, complete %v, want %d, true", table.Rows(), complete, want)
				}
				var err error
				columns, rows := contents(table)
				if again, err = AppendTable(again, columns, rows); err != nil {
					t.Fatal(err)
				}
			}
			if len(rest) != 0 {
				t.Errorf("%q is left of the report", rest)
			}
			if !bytes.Equal(again, report) {
				t.Errorf("written again = %q, want %q", again, report)
			}
		})
	}
}

func TestCellsNameTheirColumn(t *testing.T) {
	table, _, complete := ParseTable([]byte("\x00\x02a_\x00b_\x00\x001\x002\x003\x004\x00"))
	if !complete {
		t.Fatal("ParseTable: incomplete")
	}
	var got []string
	for cell := range table.Cells() {
		if len(got) == 3 {
			break
		}
		got = append(got, string(cell.Column)+string(rune('0'+cell.Row))+"="+string(cell.Value))
	}
	if want := "a_0=1 b_0=2 a_1=3"; strings.Join(got, " ") != want {
		t.Errorf("cells = %q, want %q", got, want)
	}
}

func TestAppendTable(t *testing.T) {
	tests := map[string]struct {
		columns []string
		rows    [][]string
		want    string
		err     error
	}{
		"short rows are filled": {[]string{"a", "b"}, [][]string{{"1"}, nil}, "<\x00\x02a\x00b\x00\x001\x00\x00\x00\x00", nil},
		"NUL ends a string":     {[]string{"a\x00x"}, [][]string{{"1\x002"}}, "<\x00\x01a\x00\x001\x00", nil},
		"empty":                 {nil, nil, "<\x00\x00\x00", nil},
		"empty column":          {[]string{""}, nil, "<", ErrColumnName},
		"column of a NUL":       {[]string{"\x00a"}, nil, "<", ErrColumnName},
		"row too long":          {[]string{"a"}, [][]string{{"1", "2"}}, "<", ErrRowLength},
		"too many rows":         {[]string{"a"}, make([][]string, math.MaxUint16+1), "<", ErrTooManyRows},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := AppendTable([]byte("<"), tt.columns, tt.rows)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("AppendTable = %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestMostRowsOfATable(t *testing.T) {
	b, err := AppendTable(nil, []string{"a"}, make([][]string, math.MaxUint16))
	if err != nil {
		t.Fatal(err)
	}
	if table, rest, complete := ParseTable(b); table.Rows() != math.MaxUint16 || len(rest) != 0 || !complete {
		t.Errorf("ParseTable = %d rows, %d bytes left, %v, want 65535, 0, true", table.Rows(), len(rest), complete)
	}
}

func TestTablesDoNotAllocate(t *testing.T) {
	full := []byte("\x00\x02a\x00b\x00\x001\x002\x003\x004\x00")
	empty := []byte("\xff\xffa\x00\x00")
	n := testing.AllocsPerRun(100, func() {
		for _, p := range [][]byte{full, empty} {
			table, _, _ := ParseTable(p)
			for range table.Columns() {
			}
			for range table.Cells() {
			}
		}
	})
	if n != 0 {
		t.Errorf("reading a table allocates %v times, want 0", n)
	}
}

func FuzzTable(f *testing.F) {
	for _, report := range loadReports(f) {
		_, rest, _ := readPairs(report)
		f.Add(rest)
	}
	f.Add([]byte("\xff\xffa\x00\x001\x00"))
	f.Add([]byte("\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		table, rest, complete := ParseTable(p)
		columns, rows := contents(table)
		if len(rows) != table.Rows() {
			t.Fatalf("ParseTable(%q): Cells gave %d rows, Rows says %d", p, len(rows), table.Rows())
		}
		b, err := AppendTable(nil, columns, rows)
		if err != nil {
			t.Fatalf("AppendTable of the parsed %q: %v", p, err)
		}
		if complete && len(columns) > 0 && !bytes.Equal(append(b, rest...), p) {
			t.Fatalf("ParseTable(%q) written again = %q", p, append(b, rest...))
		}
		again, left, ok := ParseTable(b)
		againColumns, againRows := contents(again)
		if !ok || len(left) != 0 || !cmp.Equal(columns, againColumns) || !cmp.Equal(rows, againRows) {
			t.Fatalf("%q read again = %q, %q, %q, %v", b, againColumns, againRows, left, ok)
		}
	})
}
