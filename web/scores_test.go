package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/web/webtest"
)

// TestTablesOfPlayers compares the tables that are shown with those that a server sent.
func TestTablesOfPlayers(t *testing.T) {
	table := func(columns string, rows ...string) query.Table {
		out := query.Table{Columns: strings.Fields(columns)}
		for _, r := range rows {
			out.Rows = append(out.Rows, strings.Split(r, " "))
		}
		return out
	}
	two := table("team_t score_t", "Red 3", "Blue 7")
	for name, tt := range map[string]struct {
		players, teams query.Table
		want           []string // first cells of the rows, or all
	}{
		"scores":              {table("player_ score_", "Ann 3", "Ben -4", "Cid 10", "Dan x", "Eva 3"), query.Table{}, []string{"Cid 10", "Ann 3", "Eva 3", "Ben -4", "Dan x"}},
		"frags":               {table("name frags", "Ann 1", "Ben 2"), query.Table{}, []string{"Ben 2", "Ann 1"}},
		"no scores":           {table("name ping", "Ann 1", "Ben 2"), query.Table{}, []string{"Ann 1", "Ben 2"}},
		"teams from 0":        {table("player_ team_", "Ann 0", "Ben 1"), two, []string{"Ann Red", "Ben Blue"}},
		"teams from 1":        {table("player_ team_", "Ann 1", "Ben 2"), two, []string{"Ann Red", "Ben Blue"}},
		"from 0 or 1":         {table("player_ team_", "Ann 1", "Ben 1"), two, []string{"Ann 1", "Ben 1"}},
		"both":                {table("player_ team_", "Ann 0", "Ben 2"), two, []string{"Ann 0", "Ben 2"}},
		"a team of no number": {table("player_ team_", "Ann 0", "Ben -"), two, []string{"Ann 0", "Ben -"}},
		"beyond the teams":    {table("player_ team_", "Ann 0", "Ben 3"), two, []string{"Ann 0", "Ben 3"}},
		"below them":          {table("player_ team_", "Ann -1", "Ben 1"), two, []string{"Ann -1", "Ben 1"}},
		"no table of teams":   {table("player_ team_", "Ann 0"), query.Table{}, []string{"Ann 0"}},
	} {
		var v serverPage
		v.showTables(statusGrid(&tt.players), statusGrid(&tt.teams), 0)
		var got []string
		for _, row := range v.Players.Rows {
			var cells []string
			for _, cell := range row {
				cells = append(cells, string(cell))
			}
			got = append(got, strings.Join(cells, " "))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestChartsAboveLongTables looks where the charts of a server stand.
func TestChartsAboveLongTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for rows := longTable - 1; rows <= longTable; rows++ {
			players := [][]string{{"player_"}}
			for i := range rows {
				players = append(players, []string{fmt.Sprint("Player", i)})
			}
			f.Put(webtest.Listed{Rules: []string{"hostname", "One", "numplayers", "9"}, Players: players})
			f.sample(time.Now())
			page := f.Page(serverPath)
			charts, table := strings.Index(page, `<h2 id="charts">`), strings.Index(page, "<h2>Players</h2>")
			if charts < 0 || table < 0 || charts < table != (rows == longTable) {
				t.Errorf("%d rows: the charts at %d, the table at %d", rows, charts, table)
			}
			time.Sleep(history.Interval)
		}
	})
}
