package master

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestFieldsAreReadAsReported(t *testing.T) {
	r := NewRegistry(Limits{})
	pairs := []string{"hostname", "A server", "rankingon", "", "password", "", "MapName", "gmtmap1", "last", "\xff\x01"}
	s := withRules(t, r, Server{}, pairs...)
	if got := pairsOf(s.Rules); !slices.Equal(got, pairs) {
		t.Errorf("All: got %q, want %q", got, pairs)
	}
	for name, want := range map[string]string{"HOSTNAME": "A server", "rankingon": "", "mapname": "gmtmap1", "Last": "\xff\x01"} {
		if got, ok := s.Rules.Get(name); !ok || got != want {
			t.Errorf("Get(%q): got %q %v, want %q", name, got, ok, want)
		}
	}
	if got, ok := s.Rules.Get("nothing"); ok {
		t.Errorf("Get of an unknown name: got %q", got)
	}
	var none Fields
	if _, ok := none.Get("hostname"); ok || none.Len() != 0 || none.Names() != nil || len(pairsOf(none)) != 0 {
		t.Error("the zero Fields are not empty")
	}
	for name := range s.Rules.All() {
		if name != "hostname" {
			t.Errorf("a reader that stops was given %q", name)
		}
		break
	}
}

func TestFirstValueOfARepeatedNameCounts(t *testing.T) {
	r := NewRegistry(Limits{})
	s := withRules(t, r, Server{}, "a", "first", "A", "second", "b", "x", "a", "third")
	if got, want := pairsOf(s.Rules), []string{"a", "first", "b", "x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTablesAreReadByRowAndColumn(t *testing.T) {
	r := NewRegistry(Limits{})
	h := newHeartbeat()
	var rep Report
	h.fill(r, &rep)
	var s Server
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	checkTable(t, "players", s.Players, h.players, h.playerValues)
	checkTable(t, "teams", s.Teams, h.teams, h.teamValues)
	if !rep.Same(&s) {
		t.Error("Same: the record does not say what the report says")
	}
}

func checkTable(t *testing.T, what string, table Table, names, values []string) {
	t.Helper()
	if table.Columns() != len(names) || table.Rows() != len(values)/len(names) {
		t.Fatalf("%s: got %d rows of %d, want %d of %d", what, table.Rows(), table.Columns(), len(values)/len(names), len(names))
	}
	for i, want := range values {
		row, column := i/len(names), i%len(names)
		if got := table.Value(row, column); got != want {
			t.Errorf("%s: row %d column %d: got %q, want %q", what, row, column, got, want)
		}
	}
}

func TestTableWithoutRowsKeepsItsColumns(t *testing.T) {
	r := NewRegistry(Limits{})
	var rep Report
	rep.SetPlayers(r.Names([]string{"player_", "score_"}), 0)
	var s Server
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	if s.Players.Rows() != 0 || s.Players.Columns() != 2 || s.Players.Names().Name(1) != "score_" {
		t.Errorf("got %d rows, %d columns", s.Players.Rows(), s.Players.Columns())
	}
	if s.Teams.Rows() != 0 || s.Teams.Columns() != 0 || s.Teams.Names() != nil {
		t.Error("the table that was not reported is not empty")
	}
}

func TestSizeOfAReportIsBounded(t *testing.T) {
	r := NewRegistry(Limits{})
	one := r.Names([]string{"a"})
	two := r.Names([]string{"a", "b"})
	big := []byte(strings.Repeat("x", math.MaxUint16))
	tests := map[string]struct {
		fill func(*Report)
		want error
	}{
		"rules of 65,535 bytes":           {func(p *Report) { p.Rule(big); p.SetRules(one) }, nil},
		"and an empty value":              {func(p *Report) { p.Rule(big); p.Rule(nil); p.SetRules(two) }, nil},
		"one byte more":                   {func(p *Report) { p.Rule(big); p.Rule([]byte("x")); p.SetRules(two) }, ErrTooBig},
		"one value of 65,536":             {func(p *Report) { p.Rule(append(slices.Clip(big), 'x')); p.SetRules(one) }, ErrTooBig},
		"players of 65,535 bytes":         {func(p *Report) { p.Player(big); p.SetPlayers(one, 1) }, nil},
		"players of more":                 {func(p *Report) { p.Player(big); p.Player(big); p.SetPlayers(one, 2) }, ErrTooBig},
		"teams of 65,535 bytes":           {func(p *Report) { p.Team(big); p.SetTeams(one, 1) }, nil},
		"teams of more":                   {func(p *Report) { p.Team(big); p.Team([]byte("x")); p.SetTeams(one, 2) }, ErrTooBig},
		"each section has its own bound":  {func(p *Report) { p.Rule(big); p.SetRules(one); p.Player(big); p.SetPlayers(one, 1) }, nil},
		"65,535 rows":                     {func(p *Report) { rows(p, math.MaxUint16); p.SetPlayers(one, math.MaxUint16) }, nil},
		"65,536 rows":                     {func(p *Report) { rows(p, math.MaxUint16+1); p.SetPlayers(one, math.MaxUint16+1) }, ErrTooBig},
		"fewer values than names":         {func(p *Report) { p.Rule(nil); p.SetRules(two) }, ErrTooBig},
		"more values than names":          {func(p *Report) { p.Rule(nil); p.Rule(nil); p.SetRules(one) }, ErrTooBig},
		"values without names":            {func(p *Report) { p.Team(nil) }, ErrTooBig},
		"a table that lacks its last row": {func(p *Report) { p.Player(nil); p.SetPlayers(one, 2) }, ErrTooBig},
		"nothing at all":                  {func(*Report) {}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var rep Report
			tt.fill(&rep)
			s := Server{Game: "as it was"}
			if err := rep.Into(&s); !errors.Is(err, tt.want) {
				t.Fatalf("Into: got %v, want %v", err, tt.want)
			}
			if tt.want == nil && !rep.Same(&s) {
				t.Error("Same after Into: false")
			}
			if tt.want != nil && (s.Rules.Len() != 0 || s.Players.Rows() != 0 || s.Teams.Rows() != 0) {
				t.Error("a refused report left traces in the record")
			}
			rep.Reset()
			if err := rep.Into(&s); err != nil || s.Rules.Len() != 0 {
				t.Errorf("Into after Reset: %v, %d rules", err, s.Rules.Len())
			}
		})
	}
}

func rows(p *Report, n int) {
	for range n {
		p.Player(nil)
	}
}

func TestSameSeesEveryDifference(t *testing.T) {
	r := NewRegistry(Limits{})
	base := newHeartbeat()
	var rep Report
	base.fill(r, &rep)
	var s Server
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*heartbeat){
		"value":        func(h *heartbeat) { h.values[3] = "other" },
		"moved border": func(h *heartbeat) { h.values[3], h.values[4] = "value 03v", "alue 04" },
		"name":         func(h *heartbeat) { h.rules[39] = "renamed" },
		"player":       func(h *heartbeat) { h.playerValues[0] = "Joe" },
		"a player less": func(h *heartbeat) {
			h.playerValues = h.playerValues[:len(h.playerValues)-4]
		},
		"column": func(h *heartbeat) { h.players[1] = "skill_" },
		"team":   func(h *heartbeat) { h.teamValues[1] = "11" },
		"no teams": func(h *heartbeat) {
			h.teamValues = nil
		},
	} {
		h := newHeartbeat()
		change(&h)
		h.fill(r, &rep)
		if rep.Same(&s) {
			t.Errorf("Same does not see the difference: %s", name)
		}
	}
	base.fill(r, &rep)
	if !rep.Same(&s) {
		t.Error("Same of the unchanged report: false")
	}
}

// The reason for a heartbeat varies; it is not a change of the server.
func TestTransientFieldIsNoChange(t *testing.T) {
	r := NewRegistry(Limits{})
	s := withRules(t, r, Server{}, "hostname", "h", "numplayers", "3")
	var rep Report
	fillRules(r, &rep, "hostname", "h", "statechanged", "1", "numplayers", "3")
	if !rep.Same(&s) {
		t.Error("the same report with statechanged counts as a change")
	}
	rep.Reset()
	fillRules(r, &rep, "numplayers", "3", "hostname", "h")
	if rep.Same(&s) {
		t.Error("another order counts as the same")
	}
}

func TestReportIsIndependentOfItsRecords(t *testing.T) {
	r := NewRegistry(Limits{})
	var rep Report
	var list []Server
	for i := range 3 {
		rep.Reset()
		fillRules(r, &rep, "n", fmt.Sprint("value ", i))
		var s Server
		if err := rep.Into(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	for i, s := range list {
		if got := s.Rules.Value(0); got != fmt.Sprint("value ", i) {
			t.Errorf("record %d: got %q", i, got)
		}
	}
}
