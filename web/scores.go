package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// grid is a table of players or teams, as a server sent it.
type grid struct {
	columns []string // without the endings that mark them
	rows    int
	value   func(row, column int) string
}

// reportGrid returns a table of a report.
func reportGrid(t master.Table) grid {
	g := grid{rows: t.Rows(), value: t.Value}
	for i := range t.Columns() {
		g.columns = append(g.columns, columnName(t.Names().Name(i)))
	}
	return g
}

// statusGrid returns a table of an answer to a query.
func statusGrid(t *query.Table) grid {
	g := grid{rows: len(t.Rows), value: func(row, column int) string { return t.Rows[row][column] }}
	for _, name := range t.Columns {
		g.columns = append(g.columns, columnName(name))
	}
	return g
}

// column returns the column that has the first of some names that one has, -1 if none has.
func (g *grid) column(names ...string) int {
	for _, name := range names {
		if i := slices.IndexFunc(g.columns, func(c string) bool { return strings.EqualFold(c, name) }); i >= 0 {
			return i
		}
	}
	return -1
}

// number returns the number in a row and column.
func (g *grid) number(row, column int) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(g.value(row, column)))
	return n, err == nil
}

// byScore returns the rows, the highest score first and those without one last. A table without
// scores stays as it is.
func (g *grid) byScore() []int {
	order := make([]int, g.rows)
	for i := range order {
		order[i] = i
	}
	if column := g.column("score", "frags", "kills", "points"); column >= 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			m, scored := g.number(a, column)
			n, other := g.number(b, column)
			switch {
			case scored && other:
				return cmp.Compare(n, m)
			case scored:
				return -1
			case other:
				return 1
			}
			return 0
		})
	}
	return order
}

// withTeams returns the table of players with names in place of the numbers of teams. Games
// count teams from 0 or 1: numbers that do not tell which stay.
func (g grid) withTeams(teams *grid) grid {
	column, name := g.column("team"), teams.column("team", "name", "teamname")
	if column < 0 || name < 0 || teams.rows == 0 {
		return g
	}
	least, most := teams.rows+1, -1
	for row := range g.rows {
		n, ok := g.number(row, column)
		if !ok || n < 0 || n > teams.rows {
			return g
		}
		least, most = min(least, n), max(most, n)
	}
	var first int
	switch {
	case least == 0 && most < teams.rows:
	case least > 0 && most == teams.rows:
		first = 1
	default:
		return g
	}
	sent := g
	g.value = func(row, at int) string {
		if at != column {
			return sent.value(row, at)
		}
		n, _ := sent.number(row, column)
		return teams.value(n-first, name)
	}
	return g
}
