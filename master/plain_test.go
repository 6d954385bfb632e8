package master

import (
	"fmt"
	"strings"
	"testing"
)

// columns returns names and values that alternate.
func columns(words ...string) (names, values []string) {
	for i := 0; i < len(words); i += 2 {
		names, values = append(names, words[i]), append(values, words[i+1])
	}
	return names, values
}

func TestReportFill(t *testing.T) {
	reg := NewRegistry(Limits{})
	var many []string
	for i := range MaxNames + 1 {
		many = append(many, fmt.Sprint("k", i), "v")
	}
	long := strings.Repeat("x", 1<<15)
	row := []string{long}
	for name, tt := range map[string]struct {
		rules          []string
		players, teams Grid

		wantRules, wantPlayers, wantTeams int
	}{
		"everything":      {[]string{"a", "1", "b", "2"}, Grid{[]string{"player_"}, [][]string{{"Joe"}}}, Grid{[]string{"team_t"}, [][]string{{"Red"}, {"Blue"}}}, 2, 1, 2},
		"too many rules":  {many, Grid{}, Grid{}, MaxNames, 0, 0},
		"too long rules":  {[]string{"a", long, "b", long, "c", "3"}, Grid{}, Grid{}, 2, 0, 0},
		"too long rows":   {nil, Grid{[]string{"player_"}, [][]string{row, row, row}}, Grid{}, 0, 1, 0},
		"too many rows":   {nil, Grid{[]string{"player_"}, make([][]string, maxGridRows+1)}, Grid{}, 0, maxGridRows, 0},
		"rows of nothing": {nil, Grid{nil, [][]string{{}}}, Grid{}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tt.players.Rows {
				if tt.players.Rows[i] == nil {
					tt.players.Rows[i] = []string{""}
				}
			}
			var r Report
			var srv Server
			for range 2 { // the first is replaced
				names, values := columns(tt.rules...)
				r.Fill(reg, names, values, tt.players, tt.teams)
			}
			if err := r.Into(&srv); err != nil {
				t.Fatal(err)
			}
			if got, want := [3]int{srv.Rules.Len(), srv.Players.Rows(), srv.Teams.Rows()}, [3]int{tt.wantRules, tt.wantPlayers, tt.wantTeams}; got != want {
				t.Errorf("rules, players, teams: %v, want %v", got, want)
			}
			if !r.Same(&srv) {
				t.Error("the record does not say what the report says")
			}
		})
	}
	var r Report
	r.Fill(reg, []string{"hostname", "hostname"}, []string{"first", "second"}, Grid{}, Grid{})
	var srv Server
	if err := r.Into(&srv); err != nil {
		t.Fatal(err)
	}
	if got, _ := srv.Rules.Get("hostname"); got != "first" {
		t.Errorf("hostname is %q, want the first value", got)
	}
}
